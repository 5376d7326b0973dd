// speed.mjs - a profile of 200 000 frames and a timeline of 1 000 000 samples. This machine may be busy, so nothing is compared
// with the clock on the wall alone: frames per second are a part of what a trivial page reaches in the same browser. Other
// programs can only make it slower, so the best of a few tries counts.
import assert from "node:assert/strict";
import fs from "node:fs";
import { file, make, near, open, page, pitot } from "./harness.mjs";

const FRAMES = 40, TRIES = 5;

// Median time between frames while `step` changes something before each.
const pace = (tab, step) => tab.evaluate(async ([count, code]) => {
	const act = new Function("i", "page", code), gaps = [];
	let last = 0;
	for (let i = 0; i <= count; i++) {
		const now = await new Promise(requestAnimationFrame);
		if (i) gaps.push(now - last);
		last = now;
		act(i, window.pitotPage);
	}
	return gaps.sort((a, b) => a - b)[count >> 1];
}, [FRAMES, step]);

async function smooth(tab, trivial, what, step) {
	let gap = Infinity;
	for (let i = 0; i < TRIES && gap > 2.1 * trivial; i++) gap = Math.min(gap, await pace(tab, step));
	console.log(`${what}: ${gap.toFixed(1)} ms between frames, a trivial page ${trivial.toFixed(1)} ms`);
	// Thirty frames a second where a trivial page has sixty.
	assert.ok(gap <= 2.1 * trivial, `${what}: ${gap} ms, trivial page ${trivial} ms`);
}

export const speed = () => ({
	async large_profiles_and_timelines_stay_smooth() {
		make("large", "a.pitot", "large.pitot");
		fs.writeFileSync(file("trivial.html"), "<!DOCTYPE html><html data-ready><title>x</title><p id=p>x</p>");
		assert.ok(fs.statSync(page("large.pitot")).size < 10 << 20);
		let trivial = 0;
		await open(file("trivial.html"), async (tab) => { trivial = await pace(tab, "document.getElementById('p').textContent = i;"); });
		await open(page("large.pitot"), async (tab) => {
			const paint = await tab.evaluate(() => performance.now());
			console.log(`first view after ${Math.round(paint)} ms`);
			// Two seconds where a trivial page has sixty frames a second.
			assert.ok(paint <= 2000 * trivial / 16.7, `${paint} ms, trivial page ${trivial} ms between frames`);
			await tab.click("text=Flame graph");
			await tab.waitForSelector(".flame canvas");
			assert.ok(await tab.evaluate(() => window.pitotPage.app.current.tree.size) > 190000);
			await smooth(tab, trivial, "flame graph, zoom", "page.app.current.graph.view(0.3 * i / 40, 1 - 0.6 * i / 40)");
			await smooth(tab, trivial, "flame graph, pan", "page.app.current.graph.view(i / 100, i / 100 + 0.2)");
			await tab.click("text=Timeline");
			await tab.waitForSelector(".layer");
			const count = await tab.evaluate(() => window.pitotPage.app.current.charts.reduce((sum, chart) => sum + chart.lines.reduce((all, line) => all + line.at.length, 0), 0));
			assert.ok(count > 50000, `${count} points`);
			await smooth(tab, trivial, "timeline, zoom", "const v = page.app.current; v.view(v.duration * 0.4 * i / 40, v.duration * (1 - 0.4 * i / 40))");
			await smooth(tab, trivial, "timeline, pan", "const v = page.app.current; v.view(v.duration * i / 100, v.duration * (i / 100 + 0.2))");
			// One sample in a hundred thousand that stands out is still there.
			const points = JSON.parse(pitot("report", file("large.pitot"), "--format", "json")).stages[0].series.cpu_percent.points;
			near(await tab.evaluate(() => Math.max(...window.pitotPage.app.current.charts[0].lines[0].max)), Math.max(...points.map((point) => point[3])), 1e-4);
		});
	},
});
