// speedscope.mjs FILE - opens a file in speedscope, as its own command does, and prints what it shows: the names of the
// profiles, and the table of its sandwich view for each, as [total, self, name].
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
	const count = JSON.parse(fs.readFileSync(file)).profiles.length;
	const profiles = [];
	for (let i = 0; i < count; i++) {
		profiles.push(await page.evaluate(() => ({
			title: document.title,
			text: document.body.innerText.split("\n", 12),
			rows: Array.from(document.querySelectorAll("table tr"), (row) =>
				Array.from(row.querySelectorAll("td"), (cell) => cell.textContent)).filter((row) => row.length),
		})));
		await page.keyboard.press("n");
	}
	return { profiles };
});
fs.rmSync(folder, { recursive: true });
