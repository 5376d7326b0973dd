// page.mjs [TEST...] - the page as a person uses it, in a real Chromium; every number is compared with the JSON report.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { axeSource, file, here, json, make, near, open, page, pitot, pitotFails, record, rows, runAll } from "./harness.mjs";
import { served } from "./served.mjs";
import { speed } from "./speed.mjs";

record("a.pitot");
record("b.pitot");
make("depths", "a.pitot", "depths.pitot");
pitot("run", "--quiet", "--no-report", "--memory=exact", "--memory-types", "--output", file("known.pitot"), "--", "python3", "memory.py");
make("noted", "known.pitot", "memory.pitot");
pitot("run", "--quiet", "--no-report", "--memory", "--output", file("plain.pitot"), "--", "python3", "-c", "x = [bytes(1000) for i in range(20000)]");
pitot("diff", file("a.pitot"), file("b.pitot"), "--format", "html", "--all", "-o", file("diff.html"));

const text = (tab, selector) => tab.textContent(selector).then((value) => value.replaceAll("\u00a0", " ").trim());
const ms = (seconds) => seconds < 0.9995 ? `${(seconds * 1000).toFixed(seconds < 0.09995 ? 1 : 0)} ms` : `${seconds.toFixed(2)} s`;
const hash = (tab) => tab.evaluate(() => location.hash);
const sum = (list) => list.reduce((a, b) => a + b, 0);

// The width of the flame graph that a frame takes, and where it is: read from the view itself.
const graph = (tab, code) => tab.evaluate(code);

async function drag(tab, selector, from, to, row = 0.5) {
	const box = await tab.locator(selector).boundingBox();
	await tab.mouse.move(box.x + from * box.width, box.y + row * box.height);
	await tab.mouse.down();
	await tab.mouse.move(box.x + (from + to) / 2 * box.width, box.y + row * box.height, { steps: 4 });
	await tab.mouse.move(box.x + to * box.width, box.y + row * box.height, { steps: 4 });
	await tab.mouse.up();
}

async function accessible(tab, what) {
	await tab.evaluate(axeSource);
	const found = await tab.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
	const serious = found.violations.filter((one) => ["serious", "critical"].includes(one.impact));
	assert.deepEqual(serious.map((one) => `${what}: ${one.id} ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`), []);
}

const tests = {
	async the_overview_shows_the_numbers_of_the_report() {
		const report = json("a.pitot");
		await open(page("a.pitot"), async (tab) => {
			assert.equal(await text(tab, "#total"), ms(report.total_duration_s));
			assert.ok((await text(tab, "#headline")).startsWith(report.bottleneck));
			const table = await rows(tab, "Stages");
			assert.deepEqual(table.map((row) => row[0].text), report.stages.map((stage) => stage.stage));
			table.forEach((row, i) => near(row[1].value, report.stages[i].duration_s, 1e-9));
			table.forEach((row, i) => near(row[2].value, report.stages[i].share, 1e-9));
			table.forEach((row, i) => near(row[4].value, report.stages[i].metrics.cpu_time_s.value, 1e-9));
			const gains = await tab.$$eval("#findings .gain", (list) => list.map((one) => Number(one.dataset.value)));
			assert.deepEqual(gains, report.findings.slice(0, gains.length).map((one) => one.gain_s).filter((gain) => gain !== null).slice(0, gains.length));
			for (const [name, metric] of Object.entries(report.metrics))
				if (metric.value === null) assert.ok((await text(tab, "#absent")).includes(name), name);
		});
	},

	async stages_sort_by_cost_and_open_their_details() {
		const report = json("a.pitot");
		await open(page("a.pitot"), async (tab) => {
			await tab.click("text=by cost");
			const table = await rows(tab, "Stages");
			assert.deepEqual(table.map((row) => row[1].value), report.stages.map((stage) => stage.duration_s).sort((x, y) => y - x));
			await tab.click('table[aria-label="Stages"] >> text=compute');
			const numbers = Object.fromEntries((await rows(tab, "Metrics of the stage")).map((row) => [row[0].text, row]));
			for (const [name, metric] of Object.entries(report.stages[0].metrics)) {
				if (metric.value === null) continue;
				near(numbers[name][1].value, metric.value, 1e-9);
				assert.equal(numbers[name][3].text, metric.source);
			}
			const processes = await rows(tab, "Processes of the stage");
			assert.deepEqual(processes.map((row) => row[0].value), report.stages[0].processes_top.map((process) => process.pid));
		});
	},

	async a_number_says_where_it_comes_from_when_it_is_pointed_at() {
		const metric = json("a.pitot").stages[0].metrics.cpu_time_s;
		await open(page("a.pitot"), async (tab) => {
			await tab.hover('table[aria-label="Stages"] tbody tr:first-child td:nth-child(5)');
			const bubble = await text(tab, ".bubble");
			assert.ok(bubble.includes("cpu_time_s") && bubble.includes(metric.method) && bubble.includes(metric.source), bubble);
		});
	},

	async a_table_copies_itself_as_csv() {
		const report = json("a.pitot");
		await open(page("a.pitot"), async (tab) => {
			await tab.click("#stages .copy");
			const lines = (await tab.evaluate(() => window.copied)).trim().split("\n");
			assert.equal(lines.length, report.stages.length + 1);
			assert.ok(lines[0].startsWith("Stage,Time,Share"));
			assert.equal(Number(lines[1].split(",")[1]), report.stages[0].duration_s);
		});
	},

	async the_flame_graph_has_all_cpu_time_of_the_report() {
		const report = json("a.pitot"), profiles = report.stages.map((stage) => stage.profile).filter(Boolean);
		await open(page("a.pitot") + "#code", async (tab) => {
			near(Number(await tab.getAttribute("#flame-summary", "data-value")), sum(profiles.map((one) => one.seconds)), 0.001);
			await tab.selectOption('select[name="stage"]', "compute");
			near(Number(await tab.getAttribute("#flame-summary", "data-value")), report.stages[0].profile.seconds, 0.001);
			const own = Object.fromEntries((await rows(tab, "Functions")).map((row) => [row[0].text, row[2].value]));
			const total = Object.fromEntries((await rows(tab, "Functions")).map((row) => [row[0].text, row[3].value]));
			for (const row of report.stages[0].profile.functions_by_self.slice(0, 5)) near(own[row.function], row.self.seconds, 0.01);
			for (const row of report.stages[0].profile.functions_by_total.filter((one) => one.function in total)) near(total[row.function], row.total.seconds, 0.01);
		});
	},

	async searching_the_flame_graph_gives_the_share_of_what_matches() {
		const heavy = json("a.pitot", "--stage", "compute").stages[0].profile.functions_by_total.find((row) => row.function === "heavy");
		await open(page("a.pitot") + "#code?stage=compute", async (tab) => {
			await tab.fill('input[name="search"]', "^heavy ");
			near(Number(await tab.getAttribute("#found", "data-value")), heavy.total.seconds, 0.01);
			assert.ok((await text(tab, "#found")).startsWith(`${(100 * heavy.total.share).toFixed(0)} %`));
			await tab.fill('input[name="search"]', "(");
			assert.equal(await text(tab, "#found"), "not a regular expression");
			await tab.fill('input[name="search"]', "no_such_function");
			assert.ok((await text(tab, "#found")).startsWith("0 %"));
		});
	},

	async frames_zoom_reverse_and_filter() {
		const python = json("a.pitot", "--view", "python", "--stage", "compute").stages[0].profile;
		await open(page("a.pitot") + "#code?stage=compute&frames=python", async (tab) => {
			const own = Object.fromEntries((await rows(tab, "Functions")).map((row) => [row[0].text, row[2].value]));
			for (const row of python.functions_by_self.filter((one) => ["heavy", "light"].includes(one.function))) near(own[row.function], row.self.seconds, 0.01);
			assert.ok(!Object.keys(own).some((name) => name.startsWith("_Py")));
			const before = await graph(tab, () => window.pitotPage.app.current.graph.visible());
			await tab.locator(".flame canvas").click({ position: { x: 200, y: 45 } });
			const after = await graph(tab, () => window.pitotPage.app.current.graph.visible());
			assert.ok(after[1] - after[0] <= before[1] - before[0]);
			assert.ok((await text(tab, ".crumbs")).startsWith("all"));
			assert.ok((await hash(tab)).includes("zoom="));
			await tab.click(".crumbs >> text=all");
			await tab.check('input[name="reverse"]');
			const top = await graph(tab, () => { const { tree, flame } = window.pitotPage.app.current; const first = tree.children[0][0]; return [flame.nameOf(first), tree.total[first]]; });
			const most = python.functions_by_self[0];
			assert.equal(top[0], most.function);
			near(top[1], most.self.seconds, 0.01);
			await tab.check('input[name="merge"]');
			await tab.selectOption('select[name="root"]', "bottom");
			near(Number(await tab.getAttribute("#flame-summary", "data-value")), python.seconds, 0.001);
		});
	},

	async a_function_shows_its_lines_with_their_source() {
		const lines = json("a.pitot").stages[0].profile.inner_lines.filter((row) => row.function === "heavy");
		await open(page("a.pitot") + "#code?stage=compute", async (tab) => {
			await tab.fill('input[name="search"]', "");
			await tab.click('table[aria-label="Functions"] >> text=/^heavy$/');
			const shown = await rows(tab, "Lines");
			const text_of = Object.fromEntries(shown.map((row) => [row[0].value, row[2].text]));
			assert.ok(lines.length > 0);
			for (const line of lines) assert.equal(text_of[line.line], line.source.trim());
			assert.ok((await hash(tab)).includes("function=heavy"));
		});
	},

	async a_brushed_range_filters_the_tables_and_the_flame_graph() {
		const report = json("a.pitot");
		await open(page("a.pitot") + "#timeline", async (tab) => {
			await tab.waitForSelector(".layer");
			await drag(tab, ".layer", 0, 0.3, 0.9);
			const params = new URLSearchParams((await hash(tab)).split("?")[1]), from = Number(params.get("from")), to = Number(params.get("to"));
			assert.ok(from === 0 && to > 0.05 && to < report.stages[0].duration_s, `${from} to ${to}`);
			const stages = await rows(tab, "Stages in the range");
			assert.equal(stages[0][0].text, "compute");
			near(stages[0][1].value, to - Math.max(0, report.stages[0].start_s), 0.05);
			const processes = await rows(tab, "Processes in the range");
			assert.ok(processes.length > 0 && processes.every((row) => row[2].value <= to));
			await tab.click("text=Flame graph of this range");
			const within = json("a.pitot", "--from", "0s", "--to", `${to}s`).stages[0].profile.seconds;
			near(Number(await tab.getAttribute("#flame-summary", "data-value")), within, 0.05);
			await tab.click(".range-chip >> text=whole run");
			near(Number(await tab.getAttribute("#flame-summary", "data-value")), sum(report.stages.map((stage) => stage.profile?.seconds ?? 0)), 0.001);
		});
	},

	async the_timeline_zooms_and_pans_by_mouse_and_by_keys() {
		await open(page("a.pitot") + "#timeline", async (tab) => {
			const visible = () => graph(tab, () => window.pitotPage.app.current.visible());
			const [first, last] = await visible();
			await tab.click('[aria-label="Zoom in"]');
			let [from, to] = await visible();
			assert.ok(from > first && to < last);
			await tab.focus(".layer");
			await tab.keyboard.press("ArrowRight");
			assert.ok((await visible())[0] > from);
			[from, to] = await visible();
			await tab.keyboard.press("+");
			assert.ok((await visible())[1] - (await visible())[0] < to - from);
			const box = await tab.locator(".layer").boundingBox();
			await tab.mouse.move(box.x + 300, box.y + 100);
			await tab.keyboard.down("Control");
			await tab.mouse.wheel(0, 400);
			await tab.keyboard.up("Control");
			await tab.waitForFunction((width) => { const [a, b] = window.pitotPage.app.current.visible(); return b - a > width; }, (await visible())[1] - (await visible())[0] - 1e-9);
			await tab.keyboard.press("Home");
			assert.deepEqual(await visible(), [first, last]);
			// A click on a bar chooses its time.
			await tab.mouse.click(box.x + 60, box.y + 33);
			near(await tab.evaluate(() => Number(new URLSearchParams(location.hash.split("?")[1]).get("to"))), json("a.pitot").stages[0].end_s, 0.01);
			await tab.focus(".layer");
			await tab.keyboard.press("Escape");
			assert.ok(!(await hash(tab)).includes("from="));
		});
	},

	async operators_and_chunks_show_the_totals_of_the_spans() {
		await open(page("depths.pitot") + "#operators", async (tab) => {
			const table = Object.fromEntries((await rows(tab, "Operators")).map((row) => [row[0].text, row]));
			for (const [path, calls, own, total, each] of [["chunk", 100, 0.1, 0.7, 0.007], ["chunk/read", 100, 0.2, 0.2, 0.002], ["chunk/encode", 100, 0.4, 0.4, 0.004]]) {
				assert.equal(table[path][1].value, calls);
				near(table[path][2].value, own, 1e-9);
				near(table[path][3].value, own / 0.7, 1e-6);
				near(table[path][4].value, total, 1e-9);
				for (const column of [5, 6, 7, 8]) near(table[path][column].value, each, 1e-6);
			}
			const facts = await tab.$$eval("#chunk-facts dd", (list) => list.map((one) => Number(one.dataset.value)));
			assert.equal(facts[0], 100);
			for (const time of facts.slice(1, 5)) near(time, 0.007, 1e-6);
			near(facts[5], 1000 / 0.007, 1e-6);
			await tab.click("text=Timeline");
			const lanes = await graph(tab, () => window.pitotPage.app.current.lanes.lanes.map((lane) => [lane.group, lane.bars.length]));
			assert.deepEqual(lanes.filter(([group]) => group === "Chunks"), [["Chunks", 100]]);
			assert.deepEqual(lanes.filter(([group]) => group === "Spans"), [["Spans", 100], ["Spans", 200]]);
		});
	},

	async the_overview_names_the_functions_with_the_most_time() {
		const python = json("a.pitot", "--view", "python").stages.flatMap((stage) => stage.profile?.functions_by_self ?? []);
		await open(page("a.pitot"), async (tab) => {
			const shown = await rows(tab, "Functions with the most CPU time");
			const most = python.sort((a, b) => b.self.seconds - a.self.seconds)[0];
			assert.equal(shown[0][0].text, most.function);
			near(shown[0][1].value, most.self.seconds, 0.01);
			await tab.click('table[aria-label="Functions with the most CPU time"] tbody tr:first-child');
			assert.ok((await hash(tab)).startsWith("#code?") && (await hash(tab)).includes(`function=${most.function}`));
		});
	},

	async spans_make_a_flame_graph_by_wall_time() {
		await open(page("depths.pitot") + "#code?weight=wall", async (tab) => {
			const spans = json("depths.pitot").stages[0].spans.operators, total = async () => Number(await tab.getAttribute("#flame-summary", "data-value"));
			near(await total(), spans.find((one) => one.path === "chunk").total_s, 1e-6);
			const own = Object.fromEntries((await rows(tab, "Operators in spans")).map((row) => [row[0].text, row]));
			for (const one of spans) {
				near(own[one.name][1].value, one.self_s, 1e-6);
				near(own[one.name][2].value, one.total_s, 1e-6);
			}
			const tree = await graph(tab, () => { const { tree, flame } = window.pitotPage.app.current; return Array.from(tree.parent, (parent, i) => i ? [flame.nameOf(i), parent ? flame.nameOf(parent) : ""] : null).slice(1); });
			assert.deepEqual(tree.sort(), [["chunk", ""], ["encode", "chunk"], ["read", "chunk"]]);
			assert.equal(await tab.locator('select[name="frames"]').count(), 0);
			await tab.evaluate(() => window.pitotPage.set({ stage: "wait" }));
			assert.equal(await total(), 0);
			// Ten chunks of 7 ms: the spans of a range are those inside it.
			const start = json("depths.pitot").stages[0].start_s;
			await tab.evaluate((from) => window.pitotPage.set({ stage: "", from: String(from), to: String(from + 0.07) }), start);
			near(await total(), 0.07, 0.01);
			await tab.fill('input[name="search"]', "read");
			near(Number(await tab.getAttribute("#found", "data-value")), 0.02, 0.01);
		});
	},

	async a_run_without_spans_says_why_there_is_no_wall_time() {
		await open(page("a.pitot") + "#code", async (tab) => {
			assert.ok((await text(tab, "#absent-weight")).includes("no spans"));
			assert.equal(await tab.locator('select[name="weight"]').count(), 0);
		});
		await open(page("depths.pitot") + "#code", async (tab) => assert.equal(await text(tab, "#absent-weight"), ""));
	},

	async the_constraint_experiment_is_a_chart_and_a_table() {
		execFileSync("sh", ["-c", `python3 ../../examples/features/generate.py 3000 >"$1"`, "sh", file("players.csv")], { cwd: here });
		pitot("features", file("players.csv"), "--recipe", "../../examples/features/nba2k.yaml", "--output-dir", file("features"), "--history", file("features-history"), "--benchmark-runs", "2", "--quiet");
		const run = path.join("features-history", fs.readdirSync(file("features-history")).find((name) => name.endsWith(".pitot")));
		const [head, ...lines] = fs.readFileSync(file("features/benchmarks/constraint_experiment.csv"), "utf8").trim().split("\n").map((line) => line.split(","));
		const column = (name) => lines.map((line) => line[head.indexOf(name)]);
		await open(page(run) + "#operators", async (tab) => {
			await tab.click('#trials >> text=more rows');
			const byRate = (list) => list.map(Number).sort((a, b) => b - a), shown = await rows(tab, "Limits");
			assert.deepEqual(shown.map((row) => row[4].value), byRate(column("throughput_rows_s")));
			assert.deepEqual(shown.map((row) => row[5].value).sort(), column("mean_chunk_latency_s").map(Number).sort());
			shown.forEach((row) => near(row[6].value / 1048576, Number(column("memory_peak_mb")[column("throughput_rows_s").findIndex((rate) => Number(rate) === row[4].value)]), 1e-6));
			const best = column("pareto_optimal").filter((value) => value === "true").length;
			assert.equal(shown.filter((row) => row[0].value === 1).length, best);
			// Not beaten is another shape, not only another colour.
			assert.equal(await tab.locator("#trials path.trial.best").count(), best);
			assert.equal(await tab.locator("#trials circle.trial").count(), lines.length - best);
			await tab.hover("#trials path.trial.best >> nth=-1");
			assert.ok(/rows a chunk.*Rows per second.*Peak memory/s.test(await text(tab, ".bubble")));
			await tab.selectOption('select[name="across"]', "memory");
			await tab.selectOption('select[name="up"]', "r2");
			assert.ok((await hash(tab)).includes("across=memory") && (await hash(tab)).includes("up=r2"));
			assert.ok((await tab.textContent("#trials svg")).includes("Peak memory (less is better)"));
			await tab.click("#trials .copy");
			assert.equal((await tab.evaluate(() => window.copied)).trim().split("\n").length, lines.length + 1);
			await accessible(tab, "limits");
		});
		// Operators are those of the one run that was watched, not a part of it for each of the others.
		const calls = json(run).stages.find((stage) => stage.stage === "streaming").spans.operators.map((one) => [one.path, one.calls]);
		await open(page(run) + "#operators?stage=streaming", async (tab) => assert.deepEqual((await rows(tab, "Operators")).map((row) => [row[0].text, row[1].value]).sort(), calls.sort()));
	},

	async memory_is_weighed_by_peak_leaks_and_churn() {
		const mib = 1 << 20;
		await open(page("depths.pitot") + "#code", async (tab) => {
			for (const [weight, heavy, light] of [["peak", 60, 40], ["leaked", 10, 0], ["allocated", 500, 200], ["temporary", 300, 0]]) {
				await tab.selectOption('select[name="weight"]', weight);
				near(Number(await tab.getAttribute("#flame-summary", "data-value")), (heavy + light) * mib, 1e-9);
				const own = Object.fromEntries((await rows(tab, "Functions")).map((row) => [row[0].text, row[2].value]));
				near(own.heavy, heavy * mib, 1e-9);
				near(own.light ?? 0, light * mib, 1e-9);
			}
			await tab.selectOption('select[name="weight"]', "peak");
			assert.ok((await text(tab, "#flame-summary")).startsWith("100 MiB of memory"));
			await tab.click("text=Timeline");
			const heap = await graph(tab, () => window.pitotPage.app.current.charts.find((chart) => chart.title === "Heap").lines[0].mean);
			assert.deepEqual(heap.filter((value) => value !== null), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((i) => i * mib));
		});
	},

	async the_memory_view_shows_lines_types_growth_and_resident_memory() {
		const said = json("memory.pitot").stages[0].memory, lines = (weight) => said.tables[weight].lines.map((line) => line.self.bytes).slice(0, 20);
		await open(page("memory.pitot") + "#memory", async (tab) => {
			assert.deepEqual(await tab.$$eval("#memory-facts dd", (list) => list.map((one) => Number(one.dataset.value))),
				[said.peak.bytes, said.peak_at_s, said.allocated_bytes, said.calls, said.tables.leaked.all.bytes]);
			assert.deepEqual((await rows(tab, "Memory by line")).map((row) => row[2].value), lines("peak"));
			await tab.click("text=Allocated in all");
			assert.ok((await hash(tab)).includes("by=allocated"));
			assert.deepEqual((await rows(tab, "Memory by line")).map((row) => row[2].value), lines("allocated"));
			const types = await rows(tab, "Objects by type");
			assert.deepEqual(types.map((row) => [row[1].value, row[3].value, row[4].value]), said.types.rows.slice(0, 20).map((row) => [row.bytes, row.share, row.blocks]));
			assert.ok(types.some((row) => row[0].text === "Row") && said.types.rows.length > 2);
			const grows = said.trends.filter((one) => one.grows);
			assert.ok(grows.some((one) => one.function === "remember" || one.line === 10), JSON.stringify(said.trends[0]));
			assert.deepEqual((await rows(tab, "Memory that grows")).map((row) => row[2].value), grows.slice(0, 20).map((one) => one.bytes_per_chunk));
			near(sum((await rows(tab, "Resident memory")).map((row) => row[1].value)), said.resident.rss_bytes, 0.03);
			assert.deepEqual((await rows(tab, "Processes with a memory profile")).map((row) => [row[0].value, row[2].value]), said.processes.slice(0, 20).map((one) => [one.pid, one.peak_bytes]));
			assert.ok((await text(tab, "#memory-notes")).includes("small blocks are not counted"));
			await accessible(tab, "memory");
			await tab.click(".memory >> text=Flame graph");
			assert.ok((await hash(tab)).includes("weight=allocated"));
		}, { colorScheme: "dark" });
		// Without --memory-types and chunks there is nothing to show of either.
		await open(page("plain.pitot") + "#memory", async (tab) => {
			assert.equal(await tab.locator("#memory-types, #memory-trends").count(), 0);
			assert.ok((await text(tab, ".memory")).includes("one sample per 512 KiB on the mean"));
		});
		await open(page("a.pitot"), async (tab) => assert.equal(await tab.locator(".tabs >> text=Memory").count(), 0));
	},

	async models_are_compared_and_their_operators_lie_under_the_roof() {
		await open(page("depths.pitot") + "#model", async (tab) => {
			const models = await rows(tab, "Models");
			assert.deepEqual(models.map((row) => row[1].value), [128, 256, 512].map((width) => width * width));
			models.forEach((row, i) => near(row[5].value, 2000 * [128, 256, 512][i] ** 2 / 5e10, 1e-9));
			await tab.click('table[aria-label="Models"] >> text=width=512');
			const operators = Object.fromEntries((await rows(tab, "Operators of the model")).map((row) => [row[0].text, row]));
			near(operators.first[4].value, 0.75, 1e-6);
			near(operators.first[3].value, 1500 * 512 ** 2 / 5e10, 1e-6);
			near(operators.second[9].value, 0.5, 1e-9);
			assert.deepEqual(await tab.$$eval(".roofline circle", (list) => list.map((one) => Number(one.dataset.value))), [5e10, 5e10]);
			assert.ok((await tab.textContent(".roofline")).includes("peak 100"));
			assert.deepEqual((await rows(tab, "Scaling")).map((row) => row[3].value), [2]);
			assert.equal(await tab.locator(".curve circle").count(), 3);
		});
	},

	async two_runs_are_compared_row_by_row_and_frame_by_frame() {
		const delta = JSON.parse(pitot("diff", file("a.pitot"), file("b.pitot"), "--format", "json", "--all"));
		const seconds = (run) => sum(json(run).stages.map((stage) => stage.profile?.seconds ?? 0));
		await open(file("diff.html"), async (tab) => {
			assert.equal(await text(tab, "#summary"), delta.summary);
			await tab.check('input[type="checkbox"]');
			while (await tab.locator("text=more rows").count()) await tab.click("text=more rows");
			const shown = await rows(tab, "Changes");
			const all = delta.tables.flatMap((table) => table.rows.map((row) => ({ ...row, where: table.name })));
			for (const row of all.filter((one) => one.a.median !== null).slice(0, 200)) {
				const found = shown.find((cells) => cells[1].text === row.where && cells[2].text === row.name && (cells[3].value === row.a.median));
				assert.ok(found, `${row.where} ${row.name}`);
				assert.ok(found[0].text.endsWith(row.verdict));
			}
			await tab.click("text=Flame graph");
			near(Number(await tab.getAttribute("#flame-summary", "data-value")), seconds("b.pitot"), 0.001);
			near(await graph(tab, () => window.pitotPage.app.current.tree.totalA[0]), seconds("a.pitot"), 0.001);
			const of = (run, name) => json(run).stages.find((stage) => stage.stage === name).profile.seconds;
			for (const stage of ["compute", "spawn"]) {
				await tab.selectOption('select[name="stage"]', stage);
				near(Number(await tab.getAttribute("#flame-summary", "data-value")), of("b.pitot", stage), 0.001);
				near(await graph(tab, () => window.pitotPage.app.current.tree.totalA[0]), of("a.pitot", stage), 0.001);
			}
			assert.ok((await hash(tab)).includes("stage=spawn"));
		});
	},

	async a_link_leads_to_the_same_view() {
		await open(page("a.pitot") + "#code?stage=compute&frames=python&search=heavy&root=bottom", async (tab) => {
			assert.equal(await tab.inputValue('select[name="stage"]'), "compute");
			assert.equal(await tab.inputValue('input[name="search"]'), "heavy");
			assert.equal(await tab.inputValue('select[name="root"]'), "bottom");
			await tab.click("text=Overview");
			await tab.goBack();
			assert.ok((await hash(tab)).startsWith("#code?"));
			assert.equal(await tab.inputValue('input[name="search"]'), "heavy");
		});
	},

	async everything_can_be_done_with_the_keyboard() {
		await open(page("a.pitot"), async (tab) => {
			await tab.keyboard.press("3");
			assert.ok((await hash(tab)).startsWith("#code"));
			await tab.keyboard.press("/");
			await tab.keyboard.type("heavy");
			assert.ok((await hash(tab)).includes("search=heavy"));
			await tab.focus(".flame canvas");
			for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "Enter"]) await tab.keyboard.press(key);
			assert.ok((await text(tab, ".crumbs")).length > 3);
			await tab.keyboard.press("Escape");
			assert.equal(await text(tab, ".crumbs"), "");
			await tab.keyboard.press("1");
			await tab.focus('table[aria-label="Stages"] tbody tr:first-child');
			await tab.keyboard.press("Enter");
			await tab.waitForSelector("#detail");
		});
	},

	async no_view_has_a_serious_accessibility_problem() {
		for (const [colorScheme, views] of [["light", ["overview?open=compute", "timeline?from=0&to=0.1", "code?function=heavy", "memory", "operators", "model"]], ["dark", ["overview", "code"]]])
			await open(page("depths.pitot"), async (tab) => {
				for (const view of views) {
					await tab.evaluate((address) => { location.hash = address; }, view);
					await tab.waitForTimeout(50);
					await accessible(tab, `${view} ${colorScheme}`);
				}
			}, { colorScheme });
		await open(file("diff.html"), (tab) => accessible(tab, "compare"));
	},

	async it_fits_a_narrow_screen_and_prints() {
		await open(page("depths.pitot"), async (tab) => {
			for (const view of ["overview?open=compute", "timeline", "code?function=heavy", "memory", "operators", "model"]) {
				await tab.evaluate((address) => { location.hash = address; }, view);
				await tab.waitForTimeout(50);
				assert.ok(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth), view);
			}
			await tab.emulateMedia({ media: "print" });
			assert.equal(await tab.locator(".tabs").isVisible(), false);
			assert.ok((await tab.pdf()).length > 10000);
		}, { viewport: { width: 400, height: 800 } });
	},

	async names_that_would_be_markup_are_shown_as_text() {
		make("hostile", "depths.pitot", "hostile.pitot");
		await open(page("hostile.pitot"), async (tab) => {
			assert.ok((await text(tab, "h1")).includes("<img src=x onerror="));
			for (const view of ["overview", "timeline", "code", "memory", "operators"]) {
				await tab.click(`.tabs >> text=${{ overview: "Overview", timeline: "Timeline", code: "Flame graph", memory: "Memory", operators: "Operators" }[view]}`);
				await tab.waitForTimeout(50);
				assert.equal(await tab.evaluate(() => window.broken), undefined);
				assert.deepEqual(await tab.$$eval("#app img, #app script, #app svg[onload]", (list) => list.length), 0);
				assert.ok(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth), view);
				assert.ok(!/[\u202a-\u202e\u2066-\u2069]/.test(await tab.evaluate(() => document.body.innerText)));
			}
			await tab.click("text=Overview");
			await tab.click('table[aria-label="Stages"] tbody tr:nth-child(2)');
			assert.ok((await text(tab, "#detail h3")).includes("</script><script>"));
		});
	},

	async a_damaged_profile_is_named_and_the_rest_is_shown() {
		make("damaged", "a.pitot", "damaged.pitot");
		await open(page("damaged.pitot"), async (tab) => {
			assert.ok((await text(tab, ".problem")).includes("damaged"));
			assert.deepEqual((await rows(tab, "Stages")).map((row) => row[0].text), ["compute", "spawn", "wait"]);
			assert.deepEqual(await tab.$$eval(".tabs a", (list) => list.map((one) => one.textContent)), ["Overview", "Timeline"]);
		});
	},

	async an_interrupted_run_shows_what_there_is() {
		make("interrupted", "a.pitot", "interrupted.pitot");
		await open(page("interrupted.pitot"), async (tab) => {
			assert.ok((await text(tab, ".top .status")).includes("interrupted"));
			const stages = await rows(tab, "Stages");
			assert.ok(stages[2].some((cell) => cell.text.includes("interrupted")));
			await tab.click("text=Timeline");
			await tab.waitForSelector(".layer");
		});
	},

	async files_that_are_no_run_make_no_page_but_a_message() {
		make("newer", "a.pitot", "newer.pitot");
		fs.writeFileSync(file("empty.pitot"), "");
		fs.writeFileSync(file("noise.pitot"), Buffer.alloc(9000, "pitot"));
		for (const [name, words] of [["newer.pitot", "newer pitot"], ["empty.pitot", "empty.pitot"], ["noise.pitot", "not a"]]) {
			const done = pitotFails("report", file(name), "--format", "html", "-o", file("none.html"));
			assert.equal(done.status, 65, name);
			assert.ok(done.stderr.includes(words), done.stderr);
			assert.ok(!fs.existsSync(file("none.html")));
		}
	},

	async a_page_whose_data_is_cut_short_says_so() {
		const whole = fs.readFileSync(page("a.pitot"), "utf8");
		fs.writeFileSync(file("cut.html"), whole.replace(/(id="model">[^<]{2000})[^<]*/, "$1"));
		await assert.rejects(open(file("cut.html"), async (tab) => {
			assert.ok((await text(tab, ".problem")).includes("cannot be read"));
			throw new Error("shown");
		}), /shown/);
	},

	...served(),
	...speed(),
};

await runAll(tests);
