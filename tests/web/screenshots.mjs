// screenshots.mjs PAGE FOLDER - pictures of the page for the README: light, 1280 pixels wide, what a person sees first.
import { createRequire } from "node:module";
import path from "node:path";

const { chromium } = createRequire(path.join(process.env.PITOT_TEST_PACKAGES, "package.json"))("playwright-core");
const [page, folder] = process.argv.slice(2);
const SHOTS = [["overview", "page-overview.png", 860], ["timeline", "page-timeline.png", 860], ["code?frames=python", "page-flame.png", 760]];

const browser = await chromium.launch({
	executablePath: process.env.PITOT_CHROMIUM,
	args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
for (const [view, name, height] of SHOTS) {
	const tab = await browser.newPage({ viewport: { width: 1280, height }, colorScheme: "light" });
	await tab.goto("file://" + page + "#" + view);
	await tab.waitForSelector("html[data-ready]");
	await tab.waitForTimeout(500);
	await tab.screenshot({ path: path.join(folder, name) });
	await tab.close();
}
await browser.close();
