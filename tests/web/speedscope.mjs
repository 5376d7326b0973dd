// speedscope.mjs FILE - opens a file in speedscope, as its own command does, and prints what it shows: the name of each
// profile, and the rows of its sandwich view, "1.50s (75%)", "500.00ms (25%)", "train" being total, self and function. It
// reads several formats; which one a file has, it finds out itself.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { packages, withPage } from "./browser.mjs";

const file = process.argv[2];
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "speedscope-"));
const loader = path.join(folder, "profile.js");
fs.writeFileSync(loader, "speedscope.loadFileFromBase64(" + JSON.stringify(path.basename(file)) + ", " +
	JSON.stringify(fs.readFileSync(file).toString("base64")) + ")");

await withPage(async (page) => {
	await page.goto("file://" + path.join(packages, "node_modules/speedscope/dist/release/index.html") +
		"#localProfilePath=" + loader);
	await page.waitForFunction(() => document.body.innerText.includes("Sandwich"), null, { timeout: 60000 });
	await page.keyboard.press("3");
	await page.waitForFunction(() => document.querySelectorAll("table td").length > 0);
	// "name (1/3)" stands in the bar where there are several.
	const several = /\(1\/(\d+)\)/.exec(await page.evaluate(() => document.body.innerText));
	const profiles = [];
	for (let i = 0; i < (several ? Number(several[1]) : 1); i++) {
		profiles.push(await page.evaluate(() => ({
			name: document.body.innerText.split("\n")[1],
			rows: Array.from(document.querySelectorAll("table tr"), (row) =>
				Array.from(row.querySelectorAll("td"), (cell) => cell.textContent))
				.filter((row) => row.length === 3 && row[0].includes("%")),
		})));
		await page.keyboard.press("n");
	}
	return { profiles };
});
fs.rmSync(folder, { recursive: true });
