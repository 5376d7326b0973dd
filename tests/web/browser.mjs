// browser.mjs - a Chromium without a network, for the scripts beside it. The path of the program is in PITOT_CHROMIUM.
import { createRequire } from "node:module";
import path from "node:path";

// The packages lie where the tests have installed them, not beside this file.
export const packages = process.env.PITOT_TEST_PACKAGES;
const { chromium } = createRequire(path.join(packages, "package.json"))("playwright-core");

export async function withPage(work, options = {}) {
	const browser = await chromium.launch({
		executablePath: process.env.PITOT_CHROMIUM,
		args: [
			"--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
			"--disable-component-update", "--disable-sync",
		],
	});
	try {
		const page = await browser.newPage({ viewport: { width: 1200, height: 700 }, ...options });
		const problems = [], requests = [];
		page.on("pageerror", (error) => problems.push(String(error)));
		page.on("dialog", (dialog) => { problems.push("dialog: " + dialog.message()); dialog.dismiss(); });
		page.on("request", (request) => requests.push(request.url()));
		const result = await work(page);
		console.log(JSON.stringify({ ...result, problems, requests }));
	} finally {
		await browser.close();
	}
}
