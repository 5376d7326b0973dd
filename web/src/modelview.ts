// modelview.ts - what `pitot model` counted and timed: models side by side, operators, their place under the machine's roof,
// and how time grows with size.

import { Child, clean, h, svg } from "./dom";
import { bytes, count, percent, seconds, share, si } from "./format";
import { param, set } from "./state";
import { bar, table } from "./table";

interface Time { runs: number; median_s: number; low_s: number | null; high_s: number | null; p90_s: number | null; p99_s: number | null; flops: number | null;
	bytes: number | null; attainable_flops: number | null; efficiency: number | null; bound: string | null; doubt: string | null; warning: string | null }
interface Work { parameters: number; macs: number; flops: number; point_ops: number; weight_bytes: number; read_bytes: number; written_bytes: number; intensity: number | null; forward: Time | null; backward: Time | null }
interface Op extends Work { name: string; type: string; kind: string; layer: string; input: string | null; output: string | null; unknown: string | null }
interface ModelRow extends Work { name: string; source: string; sizes: string; input: string; threads: number | null; uncounted: number; weights_kept_bytes: number | null;
	inference_bytes: number | null; training_bytes: number | null; measured_inference_bytes: number | null; measured_training_bytes: number | null;
	roof_flops: number | null; roof_memory_bytes: number | null; roof_cache_bytes: number | null; ops: Op[]; notes: string[] }
export interface Models { models: ModelRow[]; fits: { model: string; variable: string; quantity: string; exponent: number; low: number | null; high: number | null; r2: number | null; points: number }[] }

const title = (model: ModelRow): string => `${model.name} ${model.sizes}${model.threads ? `, ${model.threads} thread${model.threads === 1 ? "" : "s"}` : ""}`;

const H = 380, LEFT = 96, BOTTOM = 44, TOP = 16, RIGHT = 16;

// Powers of ten within a range, for both axes of the roofline.
function decades(low: number, high: number): number[] {
	const out: number[] = [];
	for (let power = Math.floor(low); power <= Math.ceil(high); power++) out.push(power);
	return out;
}

// Operations per byte against operations per second, both logarithmic; roofs as measured on the machine.
function roofline(model: ModelRow): HTMLElement | null {
	const points = model.ops.filter((op) => op.forward && op.forward.flops && op.intensity);
	if (!points.length || !model.roof_flops) return null;
	const W = matchMedia("(max-width: 640px)").matches ? 380 : 720; // text keeps its size on a narrow screen
	const xs = points.map((op) => Math.log10(op.intensity!)), ys = points.map((op) => Math.log10(op.forward!.flops!));
	const ridge = model.roof_memory_bytes ? Math.log10(model.roof_flops / model.roof_memory_bytes) : 0;
	const x0 = Math.floor(Math.min(...xs, ridge - 1)), x1 = Math.ceil(Math.max(...xs, ridge + 1)), y1 = Math.ceil(Math.log10(model.roof_flops) + 0.1), y0 = Math.floor(Math.min(...ys, y1 - 3));
	const x = (value: number): number => LEFT + (value - x0) / (x1 - x0) * (W - LEFT - RIGHT), y = (value: number): number => H - BOTTOM - (value - y0) / (y1 - y0) * (H - BOTTOM - TOP);
	const slope = -Math.atan2((H - BOTTOM - TOP) / (y1 - y0), (W - LEFT - RIGHT) / (x1 - x0)) * 180 / Math.PI;
	const first = model.roof_cache_bytes ? Math.log10(model.roof_flops / model.roof_cache_bytes) : ridge;
	const roof = (bandwidth: number, name: string): Child => {
		const from = Math.log10(bandwidth) + x0, to = Math.log10(model.roof_flops! / bandwidth);
		return [svg("path", { class: "roof", d: `M${x(x0)} ${y(from)}L${x(Math.min(x1, to))} ${y(Math.min(Math.log10(model.roof_flops!), Math.log10(bandwidth) + x1))}` }),
			svg("text", { class: "label", transform: `translate(${x(x0) + 8} ${y(from) - 12}) rotate(${slope})` }, `${name} ${si(bandwidth, "B/s")}`)];
	};
	const most = Math.max(...points.map((op) => op.forward!.median_s));
	return h("figure", { class: "roofline" }, svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": "Roofline: operators under the machine's measured limits" },
		decades(x0, x1).map((power) => [svg("path", { class: "grid", d: `M${x(power)} ${TOP}V${H - BOTTOM}` }), svg("text", { class: "tick", x: x(power), y: H - BOTTOM + 16, "text-anchor": "middle" }, 10 ** power >= 1 ? count(10 ** power) : String(10 ** power))]),
		decades(y0, y1).map((power) => [svg("path", { class: "grid", d: `M${LEFT} ${y(power)}H${W - RIGHT}` }), svg("text", { class: "tick", x: LEFT - 6, y: y(power) + 4, "text-anchor": "end" }, si(10 ** power, "FLOP/s"))]),
		svg("clipPath", { id: "plot" }, svg("rect", { x: LEFT, y: TOP, width: W - LEFT - RIGHT, height: H - BOTTOM - TOP })),
		svg("g", { "clip-path": "url(#plot)" }, model.roof_memory_bytes ? roof(model.roof_memory_bytes, "memory") : null, model.roof_cache_bytes ? roof(model.roof_cache_bytes, "cache") : null,
			svg("path", { class: "roof", d: `M${x(Math.max(x0, Math.min(x1, ridge, first)))} ${y(Math.log10(model.roof_flops))}H${x(x1)}` })),
		svg("text", { class: "label", x: W - RIGHT - 4, y: y(Math.log10(model.roof_flops)) - 6, "text-anchor": "end" }, `peak ${si(model.roof_flops, "FLOP/s")}`),
		points.map((op) => svg("circle", { class: "point", cx: x(Math.log10(op.intensity!)), cy: y(Math.log10(op.forward!.flops!)), r: 3 + 8 * Math.sqrt(op.forward!.median_s / most),
			"data-value": op.forward!.flops, hint: () => [h("b", null, clean(op.name, 80)), h("p", null, `${seconds(op.forward!.median_s)}, ${si(op.forward!.flops, "FLOP/s")} at ${count(op.intensity!)} FLOP/byte`),
				h("p", null, `${share(op.forward!.efficiency)} of what its limit allows${op.forward!.bound ? ", " + op.forward!.bound : ""}`)] })),
		svg("text", { class: "tick", x: (LEFT + W - RIGHT) / 2, y: H - 8, "text-anchor": "middle" }, "operations per byte moved")),
	h("figcaption", { class: "dim" }, "A circle is an operator; its size is its time. The lines are the machine's measured limits."));
}

function comparison(models: Models, chosen: ModelRow): HTMLElement {
	const most = Math.max(...models.models.map((model) => model.forward?.median_s ?? 0), 1e-12);
	return h("section", null, h("h2", null, "Models"), table<ModelRow>([
		{ title: "Model", wide: true, value: title, show: (model) => clean(title(model), 120) },
		{ title: "Parameters", number: true, value: (model) => model.parameters, show: (model) => count(model.parameters) },
		{ title: "FLOPs", number: true, value: (model) => model.flops, show: (model) => count(model.flops), hint: "That have to be done: two per multiply-accumulate, and one per other operation" },
		{ title: "Weights", number: true, value: (model) => model.weights_kept_bytes, show: (model) => bytes(model.weights_kept_bytes) },
		{ title: "Activations", number: true, hint: "Computed peak of inference, without weights", value: (model) => model.inference_bytes, show: (model) => bytes(model.inference_bytes) },
		{ title: "Forward", number: true, value: (model) => model.forward?.median_s, show: (model) => model.forward ? bar(model.forward.median_s / most, seconds(model.forward.median_s)) : h("span", { class: "dim" }, "not run"),
			tip: (model) => model.forward ? `median of ${model.forward.runs} runs, 95 % interval ${seconds(model.forward.low_s)} to ${seconds(model.forward.high_s)}` : null },
		{ title: "Backward", number: true, value: (model) => model.backward?.median_s, show: (model) => model.backward ? seconds(model.backward.median_s) : "" },
		{ title: "Rate", number: true, value: (model) => model.forward?.flops, show: (model) => model.forward?.flops ? si(model.forward.flops, "FLOP/s") : "" },
		{ title: "Of the limit", number: true, value: (model) => model.forward?.efficiency, show: (model) => model.forward?.efficiency ? share(model.forward.efficiency) : "", tip: (model) => clean(model.forward?.doubt ?? model.forward?.warning) || null },
	], models.models, { name: "Models", most: 60, compact: true, pick: (model) => set({ model: title(model) }), picked: (model) => model === chosen }));
}

function operatorTable(model: ModelRow): HTMLElement {
	const all = model.ops.reduce((sum, op) => sum + (op.forward?.median_s ?? 0), 0) || 1, timed = model.ops.some((op) => op.forward);
	return h("section", { class: "panel" }, h("h2", null, "Operators of ", clean(title(model), 100)), table<Op>([
		{ title: "Operator", wide: true, value: (op) => op.name, show: (op) => h("code", null, clean(op.name, 80)), tip: (op) => `${op.type}${op.input ? `, ${op.input} to ${op.output ?? "?"}` : ""}` },
		{ title: "Kind", value: (op) => op.kind }, { title: "Layer", value: (op) => op.layer, show: (op) => h("span", { class: "dim" }, clean(op.layer, 50)) },
		...(timed ? [{ title: "Forward", number: true, value: (op: Op) => op.forward?.median_s ?? null, show: (op: Op) => op.forward ? bar(op.forward.median_s / all, seconds(op.forward.median_s)) : "" },
			{ title: "Share", number: true, value: (op: Op) => op.forward ? op.forward.median_s / all : null, show: (op: Op) => op.forward ? share(op.forward.median_s / all) : "" },
			{ title: "Backward", number: true, value: (op: Op) => op.backward?.median_s ?? null, show: (op: Op) => op.backward ? seconds(op.backward.median_s) : "" }] : []),
		{ title: "Parameters", number: true, value: (op) => op.parameters, show: (op) => count(op.parameters) },
		{ title: "FLOPs", number: true, value: (op) => op.flops, show: (op) => op.unknown ? h("span", { class: "dim" }, "not counted") : count(op.flops), tip: (op) => clean(op.unknown) || null },
		...(timed ? [{ title: "Rate", number: true, value: (op: Op) => op.forward?.flops ?? null, show: (op: Op) => op.forward?.flops ? si(op.forward.flops, "FLOP/s") : "" },
			{ title: "Of the limit", number: true, value: (op: Op) => op.forward?.efficiency ?? null, show: (op: Op) => op.forward?.efficiency ? share(op.forward.efficiency) : "", tip: (op: Op) => clean(op.forward?.doubt) || null },
			{ title: "Limit", value: (op: Op) => op.forward?.bound ?? "", show: (op: Op) => op.forward?.bound ?? "" }] : []),
	], model.ops, { name: "Operators of the model", sort: timed ? 3 : 4, most: 40, compact: true }));
}

// Time against one size while the others stay: both axes logarithmic, so that a power is a line.
function scaling(models: Models): HTMLElement | null {
	if (!models.fits.length) return null;
	return h("section", { class: "panel" }, h("h2", null, "Scaling"), table(
		[{ title: "Model", value: (fit) => fit.model }, { title: "Quantity", value: (fit) => fit.quantity }, { title: "grows with", value: (fit) => fit.variable },
			{ title: "to the power of", number: true, value: (fit) => fit.exponent, show: (fit) => fit.exponent.toFixed(2) },
			{ title: "95 % interval", number: true, value: (fit) => fit.low, show: (fit) => fit.low === null || fit.high === null ? "" : `${fit.low.toFixed(2)} to ${fit.high.toFixed(2)}` },
			{ title: "R\u00b2", number: true, value: (fit) => fit.r2, show: (fit) => fit.r2 === null ? "" : percent(100 * fit.r2) }, { title: "Sizes", number: true, value: (fit) => fit.points }],
		models.fits, { name: "Scaling", compact: true }), h("div", { class: "curves" }, curves(models)));
}

const sizeOf = (model: ModelRow, variable: string): number | null => {
	if (variable === "threads") return model.threads;
	const found = new RegExp(`(?:^|[ ,])${variable.replace(/[^\w]/g, "")}=(\\d+(?:\\.\\d+)?)`).exec(model.sizes);
	return found ? Number(found[1]) : null;
};

function curves(models: Models): Child {
	return [...new Set(models.fits.map((fit) => `${fit.model}\0${fit.variable}`))].map((key) => {
		const [name, variable] = key.split("\0") as [string, string];
		const points = models.models.filter((model) => model.name === name && model.forward && sizeOf(model, variable)).map((model) => [sizeOf(model, variable)!, model.forward!.median_s] as const).sort((a, b) => a[0] - b[0]);
		if (points.length < 2 || points[0]![0] === points[points.length - 1]![0]) return null;
		const lx = points.map((point) => Math.log10(point[0])), ly = points.map((point) => Math.log10(point[1])), w = 340, hgt = 200;
		const x = (v: number): number => 60 + (v - lx[0]!) / (lx[lx.length - 1]! - lx[0]!) * (w - 80), low = Math.min(...ly), high = Math.max(...ly);
		const y = (v: number): number => hgt - 36 - (v - low) / (high - low || 1) * (hgt - 60);
		return h("figure", { class: "curve" }, svg("svg", { viewBox: `0 0 ${w} ${hgt}`, role: "img", "aria-label": `Forward time of ${clean(name, 60)} over ${variable}` },
			svg("path", { class: "line", d: lx.map((v, i) => `${i ? "L" : "M"}${x(v)} ${y(ly[i]!)}`).join("") }),
			points.map((point, i) => [svg("circle", { class: "point", cx: x(lx[i]!), cy: y(ly[i]!), r: 4, "data-value": point[1], hint: `${variable} ${point[0]}: ${seconds(point[1])}` }),
				svg("text", { class: "tick", x: x(lx[i]!), y: hgt - 18, "text-anchor": "middle" }, count(point[0]))]),
			svg("text", { class: "tick", x: 54, y: y(low) + 4, "text-anchor": "end" }, seconds(10 ** low)), svg("text", { class: "tick", x: 54, y: y(high) + 4, "text-anchor": "end" }, seconds(10 ** high))),
		h("figcaption", { class: "dim" }, `${clean(name, 60)}: forward time over ${variable}`));
	});
}

export function modelView(models: Models): HTMLElement {
	const chosen = models.models.find((model) => title(model) === param("model")) ?? models.models[0]!;
	return h("section", { class: "view models" }, comparison(models, chosen), h("div", { class: "figures" }, roofline(chosen)), operatorTable(chosen), scaling(models),
		chosen.notes.length ? h("ul", { class: "remarks" }, chosen.notes.map((note) => h("li", null, clean(note, 400)))) : null);
}
