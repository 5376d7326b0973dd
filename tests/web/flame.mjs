// flame.mjs FILE FUNCTION PATTERN [PICTURE] - uses a flame graph as a person would and prints what it then shows: zooms to
// the frame of a function, resets, searches, flips, and makes the window narrow. Leaves a picture where one is asked for.
import path from "node:path";
import { withPage } from "./browser.mjs";

const [file, name, pattern, picture] = process.argv.slice(2);

function shown() {
	return Array.from(document.querySelectorAll("svg.f")).filter((frame) => frame.style.display !== "none")
		.map((frame) => [frame.dataset.name || frame.querySelector("text").textContent, parseFloat(frame.getAttribute("x")),
			parseFloat(frame.getAttribute("width")), Number(frame.getAttribute("y"))]);
}

await withPage(async (page) => {
	const result = {};
	await page.goto("file://" + path.resolve(file));
	result.start = await page.evaluate(shown);
	const frame = page.locator("svg.f").filter({ hasText: name }).first();
	await frame.hover({ position: { x: 3, y: 5 } });
	result.details = await page.locator(".tip").innerText();
	await frame.click({ position: { x: 3, y: 5 } });
	result.zoomed = await page.evaluate(shown);
	await page.keyboard.press("Escape");
	result.reset = await page.evaluate(shown);
	await page.keyboard.press("/");
	await page.keyboard.type(pattern);
	result.search = await page.locator("output").innerText();
	result.found = await page.evaluate(() => Array.from(document.querySelectorAll("svg.f.found text"), (text) => text.textContent));
	await frame.hover({ position: { x: 3, y: 5 } });
	if (picture)
		await page.screenshot({ path: picture });
	await page.keyboard.press("Escape");
	result.cleared = await page.locator("output").innerText();
	await page.keyboard.press("Control+f");
	await page.keyboard.type("(");
	result.badPattern = await page.locator("output").innerText();
	await page.keyboard.press("Escape");
	await page.locator("button.turn").click();
	result.flipped = await page.evaluate(shown);
	await page.setViewportSize({ width: 320, height: 600 });
	result.narrowWidth = await page.evaluate(() => document.documentElement.getBoundingClientRect().width);
	return result;
}, { colorScheme: process.env.COLOR_SCHEME || "light" });
