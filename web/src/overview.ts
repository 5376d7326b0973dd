// overview.ts - the first look: how long, where, why, what to do; then every stage with its numbers.

import { Child, clean, h } from "./dom";
import { bytes, percent, quantity, seconds, share } from "./format";
import { hot } from "./hot";
import type { Finding, Metric, RunModel, Stage } from "./model";
import { go, param, set } from "./state";
import { bar, table } from "./table";
import { failure, gain, lastMoment, memoryName, metricText, provenance, stageColour, statusOf } from "./words";

interface Fact { title: string; name: string; metric: Metric | undefined }

function facts(model: RunModel): HTMLElement {
	const { metrics } = model.report, memory = memoryName(metrics);
	const list: Fact[] = [
		{ title: "CPU time", name: "cpu_time_s", metric: metrics["cpu_time_s"] },
		{ title: "Peak memory", name: memory, metric: metrics[memory] },
		{ title: "Read", name: "io_read_bytes", metric: metrics["io_read_bytes"] },
		{ title: "Written", name: "io_write_bytes", metric: metrics["io_write_bytes"] },
		{ title: "Energy", name: "energy_j", metric: metrics["energy_j"] },
		{ title: "GPU", name: "gpu_util_percent_avg", metric: metrics["gpu_util_percent_avg"] },
	];
	return h("dl", { class: "facts" }, list.filter((fact) => fact.metric?.value !== null && fact.metric?.value !== undefined).map((fact) =>
		h("div", { hint: () => provenance(model, fact.name, fact.metric), tabindex: "0" },
			h("dt", null, fact.title), h("dd", { "data-metric": fact.name }, metricText(fact.metric)))));
}

function going(model: RunModel): string {
	const open = model.timeline?.stages.filter((stage) => stage.end_s === null && stage.status === "interrupted") ?? [];
	return open.length ? open.map((stage) => `${clean(stage.name, 60)} has been running for ${seconds(lastMoment(model) - stage.start_s)}`).join(", ") : "Between two stages.";
}

function hero(model: RunModel): HTMLElement {
	const { report } = model, slow = report.stages.find((stage) => stage.stage === report.bottleneck);
	const total = report.metrics["wall_s"];
	const spread = report.run.repetitions;
	return h("section", { class: "hero" },
		h("div", { class: "total", hint: () => provenance(model, "wall_s", total), tabindex: "0" },
			h("span", { class: "big", id: "total" }, seconds(report.run.live ? lastMoment(model) : report.total_duration_s)),
			h("span", { class: "dim" }, report.run.live ? "so far" : spread.n > 1 ?
				`median of ${spread.n} repetitions, ${seconds(spread.min)} to ${seconds(spread.max)}` : "elapsed")),
		h("div", { class: "answer" },
			h("p", { class: "headline", id: "headline" }, report.run.live ? going(model) : clean(model.headline) || "No stage has a time."),
			slow && slow.evidence ? h("p", { class: "dim" }, `${model.verdicts[slow.verdict] ?? slow.verdict}: ${clean(slow.evidence)}`) : null,
			facts(model)));
}

// The stages end to end, as wide as they are long: the bottleneck is what one sees first.
function strip(model: RunModel): HTMLElement | null {
	const { stages, bottleneck } = model.report;
	const all = stages.reduce((sum, stage) => sum + (stage.duration_s ?? 0), 0);
	if (!(all > 0)) return null;
	return h("div", { class: "strip", role: "img", "aria-label": "Share of the time by stage" }, stages.map((stage, i) => {
		const part = (stage.duration_s ?? 0) / all;
		return part > 0 ? h("div", { class: "piece" + (stage.stage === bottleneck ? " worst" : ""),
			style: { "flex-grow": String(part), "--stage": `var(${stageColour(i)})` },
			hint: `${clean(stage.stage, 100)}: ${seconds(stage.duration_s)}, ${share(part)}` },
		h("span", null, part > 0.04 ? clean(stage.stage, 40) : ""), h("small", null, part > 0.04 ? share(part) : "")) : null;
	}));
}

function findingCard(finding: Finding): HTMLElement {
	const name = { fix: "Fix", look: "Look", note: "Note" }[finding.severity];
	return h("li", { class: "finding " + finding.severity },
		h("div", { class: "finding-head" },
			h("span", { class: "chip " + finding.severity }, name),
			h("strong", null, clean(finding.title)),
			finding.stage ? h("button", { class: "link", onclick: () => go("overview", { open: finding.stage! }) }, clean(finding.stage, 60)) : null,
			finding.gain_s !== null ? h("span", { class: "gain", hint: finding.assumption ? "Assuming that " + finding.assumption : "Predicted along the critical path",
				"data-value": finding.gain_s }, gain(finding)) : null),
		h("p", null, clean(finding.what, 600)),
		h("p", { class: "advice" }, clean(finding.advice, 600)),
		finding.evidence.length ? h("p", { class: "evidence dim" }, finding.evidence.map((number, i) => [i ? " \u00b7 " : "",
			h("span", { hint: `${number.method}, ${clean(number.source)}` }, `${number.name} ${number.lower_bound ? "\u2265\u00a0" : ""}${quantity(number.value, number.unit)}`)])) : null);
}

function findings(model: RunModel): HTMLElement {
	const list = model.report.findings;
	const first = Math.max(3, list.filter((finding) => finding.vital || finding.severity === "fix").length);
	const all = param("findings") === "all";
	return h("section", { class: "panel", id: "findings" }, h("h2", null, "What to fix first"),
		list.length ? h("ol", { class: "findings" }, list.slice(0, all ? list.length : Math.min(first, 5)).map(findingCard)) :
			h("p", { class: "dim" }, "No rule has anything to say about this run."),
		list.length > Math.min(first, 5) ? h("button", { class: "link", onclick: () => set({ findings: all ? "" : "all" }) },
			all ? "Show fewer" : `Show all ${list.length} findings`) : null);
}

function statusMark(status: string): HTMLElement {
	const marks: Record<string, string> = { ok: "\u2713", error: "\u2717", timeout: "\u29d6", interrupted: "\u2016", skipped: "\u2013", running: "\u25b6", manual: "\u270b" };
	return h("span", { class: "status " + status }, h("span", { "aria-hidden": "true" }, (marks[status] ?? "?") + " "), status);
}

function stages(model: RunModel): HTMLElement {
	const { report } = model;
	const rows = report.stages.map((stage, index) => ({ stage, index }));
	const most = Math.max(...report.stages.map((stage) => stage.duration_s ?? 0), 1e-12);
	const order = param("order") || "run";
	if (order === "cost") rows.sort((a, b) => (b.stage.duration_s ?? -1) - (a.stage.duration_s ?? -1));
	type Row = typeof rows[number];
	const metric = (title: string, name: (stage: Stage) => string, always = false) => {
		const known = report.stages.some((stage) => stage.metrics[name(stage)]?.value !== null && stage.metrics[name(stage)]?.value !== undefined);
		const largest = Math.max(...report.stages.map((stage) => stage.metrics[name(stage)]?.value ?? 0), 1e-12);
		return known || always ? [{ title, number: true, value: (row: Row) => row.stage.metrics[name(row.stage)]?.value ?? null,
			show: (row: Row) => bar((row.stage.metrics[name(row.stage)]?.value ?? 0) / largest, metricText(row.stage.metrics[name(row.stage)]), "quiet"),
			tip: (row: Row) => () => provenance(model, name(row.stage), row.stage.metrics[name(row.stage)]) }] : [];
	};
	const open = param("open");
	return h("section", { class: "panel", id: "stages" },
		h("div", { class: "panel-head" }, h("h2", null, "Stages"),
			h("div", { class: "toggle", role: "group", "aria-label": "Order" },
				["run", "cost"].map((one) => h("button", { "aria-pressed": String(order === one), onclick: () => set({ order: one === "run" ? "" : one }) },
					one === "run" ? "as run" : "by cost")))),
		table<Row>([
			{ title: "Stage", value: (row) => row.stage.stage, show: (row) => h("span", { class: "name" },
				h("i", { class: "dot", style: { background: `var(${stageColour(row.index)})` } }), h("bdi", null, clean(row.stage.stage, 80))) },
			{ title: "Time", number: true, value: (row) => row.stage.duration_s, show: (row) => bar((row.stage.duration_s ?? 0) / most, seconds(row.stage.duration_s)),
				tip: (row) => () => [provenance(model, "wall_s", row.stage.metrics["wall_s"]), spread(row.stage)] },
			{ title: "Share", number: true, value: (row) => row.stage.share, show: (row) => share(row.stage.share) },
			{ title: "What holds it up", value: (row) => row.stage.verdict, tip: (row) => clean(row.stage.evidence) || null,
				show: (row) => h("span", { class: "verdict" }, row.stage.verdict === "none" ? h("span", { class: "dim" }, "\u2013") : row.stage.verdict) },
			...metric("CPU", () => "cpu_time_s"), ...metric("CPU %", () => "cpu_percent_avg"), ...metric("Memory", (stage) => memoryName(stage.metrics)),
			...metric("Read", () => "io_read_bytes"), ...metric("Written", () => "io_write_bytes"), ...metric("Energy", () => "energy_j"),
			...metric("GPU", () => "gpu_util_percent_avg"),
			{ title: "Status", value: (row) => statusOf(row.stage, report.run.live), show: (row) => statusMark(statusOf(row.stage, report.run.live)),
				tip: (row) => clean(failure(row.stage)) || null },
		], rows, { name: "Stages", most: 200, pick: (row) => set({ open: open === row.stage.stage ? "" : row.stage.stage }),
			picked: (row) => row.stage.stage === open }),
		detail(model, report.stages.find((stage) => stage.stage === open)));
}

function spread(stage: Stage): Child {
	const { n, min, max, sd } = stage.repetitions;
	return n > 1 ? h("p", { class: "dim" }, `${n} repetitions: ${seconds(min)} to ${seconds(max)}, standard deviation ${seconds(sd)}`) : null;
}

function detail(model: RunModel, stage: Stage | undefined): HTMLElement | null {
	if (!stage) return null;
	const metrics = Object.entries(stage.metrics).filter(([, metric]) => metric.value !== null);
	return h("div", { class: "detail", id: "detail" },
		h("div", { class: "panel-head" }, h("h3", null, h("bdi", null, clean(stage.stage, 200))), h("button", { class: "link", onclick: () => set({ open: "" }) }, "close")),
		stage.command ? h("pre", { class: "command" }, clean(stage.command, 4000)) : null,
		failure(stage) ? h("p", { class: "failure" }, clean(failure(stage), 500)) : null,
		stage.evidence ? h("p", null, `${model.verdicts[stage.verdict] ?? stage.verdict}: ${clean(stage.evidence)}`) : null,
		h("p", { class: "links" },
			stage.profile ? h("button", { class: "link", onclick: () => go("code", { stage: stage.stage }) }, "Its flame graph") : null,
			stage.start_s !== null && stage.end_s !== null ? h("button", { class: "link",
				onclick: () => go("timeline", { from: String(stage.start_s), to: String(stage.end_s) }) }, "Its time on the timeline") : null),
		stage.log_tail && stage.status !== "ok" ? [h("h4", null, "Last lines it printed"), h("pre", { class: "log", tabindex: "0" }, stage.log_tail.slice(-8000))] : null,
		h("h4", null, "Every number and where it comes from"),
		table(
			[{ title: "Metric", value: ([name]) => name, tip: ([name]) => model.registry[name]?.meaning ?? null },
				{ title: "Value", number: true, value: ([, metric]) => metric.value, show: ([, metric]) => metricText(metric) },
				{ title: "Method", value: ([, metric]) => metric.method }, { title: "Source", wide: true, value: ([, metric]) => metric.source },
				{ title: "Covered", number: true, value: ([, metric]) => metric.coverage, show: ([, metric]) => share(metric.coverage) }],
			metrics, { name: "Metrics of the stage", most: 100, compact: true }),
		stage.processes_top.length ? [h("h4", null, `Costliest of ${stage.processes_recorded} processes`), table(
			[{ title: "PID", number: true, value: (process) => process.pid }, { title: "Command", wide: true, value: (process) => process.command, show: (process) => h("code", null, clean(process.command, 120)) },
				{ title: "CPU", number: true, value: (process) => process.cpu_user_s + process.cpu_system_s, show: (process) => seconds(process.cpu_user_s + process.cpu_system_s) },
				{ title: "Peak memory", number: true, value: (process) => process.rss_peak_bytes, show: (process) => bytes(process.rss_peak_bytes) }],
			stage.processes_top, { name: "Processes of the stage", most: 20, compact: true })] : null,
		stage.artifacts.length ? [h("h4", null, "Files"), table(
			[{ title: "Kind", value: (file) => file.kind }, { title: "Path", wide: true, value: (file) => file.path }, { title: "Size", number: true, value: (file) => file.bytes,
				show: (file) => file.exists ? bytes(file.bytes) : h("span", { class: "dim" }, "missing") }],
			stage.artifacts, { name: "Files of the stage", compact: true })] : null);
}

function absent(model: RunModel): HTMLElement | null {
	const reasons = new Map<string, string[]>();
	for (const [name, metric] of Object.entries(model.report.metrics))
		if (metric.value === null) reasons.set(metric.reason ?? "", [...(reasons.get(metric.reason ?? "") ?? []), name]);
	if (!reasons.size) return null;
	return h("section", { class: "panel", id: "absent" }, h("h2", null, "What was not measured, and why"), h("dl", { class: "reasons" },
		[...reasons].map(([reason, names]) => [h("dt", null, clean(reason)), h("dd", { class: "dim" }, names.join(", "))])));
}

function quality(model: RunModel): HTMLElement | null {
	const list = model.report.quality;
	if (!list.length) return null;
	return h("section", { class: "panel", id: "quality" }, h("h2", null, "Quality"), table(
		[{ title: "Metric", value: (row) => row.name }, { title: "Value", number: true, value: (row) => row.value,
			show: (row) => row.value === null ? h("span", { class: "dim" }, "n/a") : String(Number(row.value.toPrecision(6))), tip: (row) => clean(row.reason ?? row.source) || null },
		{ title: "From", wide: true, value: (row) => row.reason ?? row.source }], list, { name: "Quality metrics", compact: true }));
}

function warnings(model: RunModel): HTMLElement | null {
	const list = model.report.warnings.filter((event) => event.kind !== "mark");
	if (!list.length) return null;
	return h("section", { class: "panel" }, h("h2", null, "Remarks"), h("ul", { class: "remarks" }, list.slice(0, 50).map((event) =>
		h("li", { class: event.kind }, event.stage ? [h("b", null, clean(event.stage, 60)), ": "] : null, clean(event.text, 500)))));
}

function about(model: RunModel): HTMLElement {
	const { run, params, timestamp_utc, pitot_version } = model.report;
	const rows: [string, Child][] = [["Machine", clean(model.host_line)], ["Started", timestamp_utc.replace("T", " ").replace("Z", " UTC")],
		["Command", run.argv ? h("code", null, clean(run.argv.join(" "), 400)) : null], ["Folder", run.cwd ? h("code", null, clean(run.cwd)) : null],
		["Commit", run.git_commit ? h("code", null, clean(run.git_commit)) : null],
		["Parameters", Object.keys(params).length ? Object.entries(params).map(([name, value], i) => [i ? ", " : "", h("code", null, clean(`${name}=${value.value}`, 120))]) : null],
		["pitot itself", clean(model.own_cost)], ["pitot", pitot_version]];
	return h("section", { class: "panel" }, h("h2", null, "The run"), h("dl", { class: "about" }, rows.filter(([, value]) => value).map(([title, value]) =>
		[h("dt", null, title), h("dd", null, value)])));
}

export function overview(model: RunModel): HTMLElement {
	const low = model.report.stages.filter((stage) => stage.profile && (stage.profile.quality.coverage ?? 1) < 0.9);
	return h("section", { class: "view overview" }, hero(model), strip(model), h("div", { class: "split" }, model.report.run.live && !model.report.findings.length ? null : findings(model), hot(model)), stages(model),
		low.length ? h("p", { class: "dim" }, `The code profile covers less than 90 % of the CPU time of: ${low.map((stage) => `${clean(stage.stage, 40)} (${percent(100 * (stage.profile!.quality.coverage ?? 0))})`).join(", ")}.`) : null,
		h("div", { class: "columns" }, quality(model), warnings(model)), model.report.run.live ? null : absent(model), about(model));
}
