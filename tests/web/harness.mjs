// harness.mjs - what the tests of the page share: a Chromium, run files with known contents, and a runner that counts.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const here = path.dirname(fileURLToPath(import.meta.url));
const require = createRequire(path.join(process.env.PITOT_TEST_PACKAGES, "package.json"));
const { chromium } = require("playwright-core");
export const axeSource = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

export const build = process.env.PITOT_BUILD ?? path.join(here, "../../build");
export const folder = fs.mkdtempSync(path.join(os.tmpdir(), "pitot-page-"));
const history = path.join(folder, "history");

export const pitot = (...words) => execFileSync(path.join(build, "pitot"), words, { encoding: "utf8", cwd: here, stdio: ["ignore", "pipe", "pipe"], maxBuffer: 1 << 28 });
export const pitotFails = (...words) => spawnSync(path.join(build, "pitot"), words, { encoding: "utf8", cwd: here });

export const file = (name) => path.join(folder, name);
export const json = (run, ...words) => JSON.parse(pitot("report", file(run), "--format", "json", ...words));

export function record(name, ...words) {
	pitot("run", "--cpu", "--history", history, "--output", file(name), ...words, "pipeline.yaml");
}

export function make(kind, from, to) {
	execFileSync("python3", [path.join(here, "make_run.py"), kind, file(from), file(to)]);
}

// The page of a run file; made once.
const pages = new Map();
export function page(run) {
	if (!pages.has(run)) {
		const out = file(run + ".html");
		pitot("report", file(run), "--format", "html", "-o", out);
		pages.set(run, out);
	}
	return pages.get(run);
}

let browser = null;
const launch = () => chromium.launch({
	executablePath: process.env.PITOT_CHROMIUM,
	args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync"],
});

// Opens a page as a person would, from disk; fails where it says anything on the console or asks anybody for anything.
export async function open(address, work, options = {}) {
	const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
	const tab = await context.newPage();
	const problems = [];
	tab.on("pageerror", (error) => problems.push(String(error.stack)));
	tab.on("console", (message) => { if (["error", "warning"].includes(message.type())) problems.push(message.text()); });
	tab.on("dialog", (dialog) => { problems.push("dialog: " + dialog.message()); void dialog.dismiss(); });
	tab.on("request", (request) => { if (!/^(file|data|blob):/.test(request.url()) && !options.served) problems.push("asked for " + request.url()); });
	await tab.addInitScript(() => {
		Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => { window.copied = text; } } });
	});
	try {
		await tab.goto(address.startsWith("http") ? address : "file://" + address);
		await tab.waitForSelector("html[data-ready]", { timeout: 60000 });
		await work(tab);
		assert.deepEqual(problems, []);
	} finally {
		await context.close();
	}
}

export const near = (shown, true_, part = 0.02) =>
	assert.ok(Math.abs(shown - true_) <= part * Math.abs(true_) + 1e-9, `shown ${shown}, should be ${true_}`);

// Cells of a table of the page, as text and as numbers.
export const rows = (tab, name) => tab.evaluate((label) => Array.from(document.querySelectorAll(`table[aria-label="${label}"] tbody tr`), (row) =>
	Array.from(row.querySelectorAll("td"), (cell) => ({ text: cell.textContent.trim(), value: cell.dataset.value === undefined ? null : Number(cell.dataset.value) }))), name);

export async function runAll(tests) {
	const wanted = process.argv.slice(2);
	let passed = 0, failed = 0;
	browser = await launch();
	for (const [name, work] of Object.entries(tests)) {
		if (wanted.length && !wanted.includes(name)) continue;
		const started = Date.now();
		try {
			await work();
			passed++;
			if (process.env.VERBOSE) console.log(`ok ${name} (${Date.now() - started} ms)`);
		} catch (error) {
			failed++;
			console.log(`FAILED ${name}\n${error.stack}`);
		}
	}
	await browser.close();
	fs.rmSync(folder, { recursive: true, force: true });
	console.log(`${passed} passed, ${failed} failed`);
	process.exit(failed ? 1 : 0);
}
