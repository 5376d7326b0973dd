// main.ts - gets the model, draws the frame around the views, and shows the one that the address names.

import { clean, clear, h, installHints } from "./dom";
import { seconds } from "./format";
import { DiffModel, embedded, ask, Model, RunModel } from "./model";
import { compare, diffCode } from "./compare";
import { HistoryView } from "./history";
import { memorySeries } from "./memory";
import { hasMemory, memoryView } from "./memoryview";
import { modelView } from "./modelview";
import { operators, spanLanes, spansLeftOut } from "./operators";
import { overview } from "./overview";
import { rangePanels } from "./rangeview";
import { codeView } from "./sources";
import { go, listen, param, range, set, setRange, state } from "./state";
import { TimelineView } from "./timeline";

interface View { id: string; title: string; has: (model: Model) => boolean; make: (model: Model) => { element: HTMLElement; update: () => void } }

const isRun = (model: Model): model is RunModel => model.kind === "run";

// A view that is made anew whenever the address changes.
function redrawn(draw: () => HTMLElement): { element: HTMLElement; update: () => void } {
	const element = h("div", null);
	return { element, update: () => clear(element, draw()) };
}

const VIEWS: View[] = [
	{ id: "overview", title: "Overview", has: isRun, make: (model) => redrawn(() => overview(model as RunModel)) },
	{ id: "timeline", title: "Timeline", has: (model) => isRun(model) && !!model.timeline && model.timeline.stages.length > 0,
		make: (model) => new TimelineView(model as RunModel, { groups: (model as RunModel).spans ? spanLanes((model as RunModel).spans!) : [],
			note: (model as RunModel).spans ? spansLeftOut((model as RunModel).spans!) : null,
			series: (model as RunModel).memory ? memorySeries((model as RunModel).memory!) : [], below: (chosen) => rangePanels(model as RunModel, chosen) }) },
	{ id: "code", title: "Flame graph", has: (model) => isRun(model) && ((!!model.code && model.code.entries.us.length > 0) || !!model.memory || (!!model.spans && model.spans.operators.length > 0)), make: (model) => codeView(model as RunModel) },
	{ id: "memory", title: "Memory", has: (model) => isRun(model) && hasMemory(model), make: (model) => redrawn(() => memoryView(model as RunModel)) },
	{ id: "operators", title: "Operators", has: (model) => isRun(model) && ((!!model.spans && model.spans.operators.length > 0) || !!model.trials),
		make: (model) => redrawn(() => operators(model as RunModel)) },
	{ id: "model", title: "Model", has: (model) => isRun(model) && !!model.models && model.models.models.length > 0,
		make: (model) => redrawn(() => modelView((model as RunModel).models!)) },
	{ id: "compare", title: "Compare", has: (model) => !isRun(model), make: (model) => redrawn(() => compare(model as DiffModel)) },
	{ id: "difference", title: "Flame graph", has: (model) => !isRun(model) && model.sides.length === 2 && model.sides.every((side) => !!side.code),
		make: (model) => diffCode(model as DiffModel) },
];

class App {
	private readonly root = document.getElementById("app")!;
	private model: Model | null = null;
	private served = false;
	private asked = "-";
	private timer = 0;
	private made = new Map<string, { element: HTMLElement; update: () => void }>();
	private readonly head = h("header", { class: "top" });
	private readonly nav = h("nav", { class: "tabs", "aria-label": "Views" });
	private readonly chosen = h("div", { class: "range-chip", hidden: true });
	private readonly main = h("main", { id: "main", tabindex: "-1" });

	start(): void {
		installHints();
		clear(this.root, h("a", { class: "skip", href: "#main", onclick: (event: Event) => { event.preventDefault(); this.main.focus(); } }, "Skip to the view"),
			this.head, this.nav, this.chosen, this.main, h("div", { id: "toast", class: "toast", role: "status", hidden: true }));
		listen((_, previous) => this.changed(previous));
		document.addEventListener("keydown", (event) => this.key(event));
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.made.clear(); this.draw(); });
		void this.load();
	}

	private async load(): Promise<void> {
		try {
			this.model = await embedded();
			this.served = !this.model;
			if (this.served) await this.ask();
			else this.draw();
		} catch (error) {
			this.fail("This page's data cannot be read.", error);
		}
		document.documentElement.setAttribute("data-ready", "1");
	}

	// What the address names: a run, two runs, or nothing, which is the history.
	private async ask(): Promise<void> {
		const { view } = state(), run = param("run"), wanted = view === "compare" || (param("a") && param("b") && !run) ? `diff?a=${encodeURIComponent(param("a"))}&b=${encodeURIComponent(param("b"))}` :
			run ? `run?run=${encodeURIComponent(run)}` : "";
		if (wanted !== this.asked) {
			this.asked = wanted;
			this.model = null;
			this.made.clear();
			try {
				if (wanted) this.model = await ask<Model>("api/" + wanted);
			} catch (error) {
				this.draw();
				this.fail("This run cannot be shown.", error);
				return;
			}
			if (this.asked !== wanted) return;
		}
		this.draw();
		this.follow();
	}

	// A run that goes on is asked for again; what is being looked at stays.
	private follow(): void {
		clearTimeout(this.timer);
		if (!this.served || !this.model || !isRun(this.model) || !this.model.report.run.live || !this.asked) return;
		const wanted = this.asked;
		this.timer = window.setTimeout(() => {
			ask<Model>("api/" + wanted).then((model) => {
				if (this.asked !== wanted) return;
				const before = this.made.get("timeline");
				this.model = model;
				this.made.clear();
				this.draw();
				const now = this.made.get("timeline");
				if (before instanceof TimelineView && now instanceof TimelineView) now.adopt(before);
				this.follow();
			}, () => this.follow());
		}, 2000);
	}

	private changed(previous: { view: string; params: Record<string, string> }): void {
		const now = state();
		const other = (name: string): boolean => (previous.params[name] ?? "") !== param(name);
		if (this.served && (other("run") || (now.view === "compare") !== (previous.view === "compare") || (now.view === "compare" && (other("a") || other("b"))))) void this.ask();
		else this.draw();
	}

	private fail(what: string, error: unknown): void {
		clear(this.main, h("section", { class: "view" }, h("div", { class: "panel problem", role: "alert" }, h("h1", null, what),
			h("p", null, clean(error instanceof Error ? error.message : String(error), 600)))));
	}

	private views(): View[] {
		const views = VIEWS.filter((view) => this.model && view.has(this.model));
		return this.served ? [...views, this.history] : views;
	}

	private readonly history: View = { id: "history", title: "History", has: () => true,
		make: () => new HistoryView((file) => go("overview", { run: file, a: "", b: "", from: "", to: "" })) };

	private draw(): void {
		const model = this.model;
		const views = this.views();
		if (!views.length) return;
		const view = views.find((one) => one.id === state().view) ?? views[0]!;
		this.drawHead(model);
		clear(this.nav, views.map((one, i) => h("a", { href: "#" + one.id, "aria-current": one === view ? "page" : null, title: `Key ${i + 1}`,
			onclick: (event: Event) => { event.preventDefault(); go(one.id); } }, one.title)));
		this.drawRange();
		let made = this.made.get(view.id);
		if (!made) this.made.set(view.id, made = view.make(model!));
		if (this.main.lastElementChild !== made.element) this.main.replaceChildren(...(model ? this.problems(model) : []), made.element);
		made.update();
	}

	private problems(model: Model): HTMLElement[] {
		return model.problems.map((text) => h("div", { class: "panel problem", role: "alert" }, h("strong", null, "Part of this run cannot be shown. "), clean(text, 600)));
	}

	private drawHead(model: Model | null): void {
		if (!model) {
			document.title = "pitot";
			clear(this.head, h("h1", null, "pitot"));
		} else if (!isRun(model)) {
			document.title = `${clean(model.sides[1]?.name, 60)}: comparison \u00b7 pitot`;
			clear(this.head, h("h1", null, h("bdi", null, clean(model.sides[1]?.name, 120))), h("span", { class: "dim" }, "comparison"), h("span", { class: "brand when" }, "pitot"));
		} else {
			const { run, timestamp_utc, stages } = model.report;
			const failed = stages.filter((stage) => !["ok", "manual", "skipped"].includes(stage.status)).length;
			document.title = `${clean(run.name, 60)} \u00b7 ${seconds(model.report.total_duration_s)} \u00b7 pitot`;
			clear(this.head, h("h1", null, h("bdi", null, clean(run.name, 120))),
				h("span", { class: "status " + (run.live ? "running" : run.status) }, run.live ? "running" : model.status_words),
				failed && !run.live ? h("span", { class: "dim" }, `${failed} of ${stages.length} stages not ok`) : null,
				h("span", { class: "dim when" }, timestamp_utc.slice(0, 16).replace("T", " ") + " UTC"), h("span", { class: "brand" }, "pitot"));
		}
	}

	private drawRange(): void {
		const chosen = range();
		this.chosen.hidden = !chosen;
		if (chosen) clear(this.chosen, h("span", null, `Only ${seconds(chosen[0])} to ${seconds(chosen[1])} of the run`),
			h("button", { class: "link", onclick: () => setRange(null) }, "whole run"));
	}

	private key(event: KeyboardEvent): void {
		const target = event.target as HTMLElement;
		if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
		const view = this.views()[Number(event.key) - 1];
		if (view) go(view.id);
		else if (event.key === "/" && state().view === "code") {
			event.preventDefault();
			(document.querySelector('input[name="search"]') as HTMLElement | null)?.focus();
		} else if (event.key === "Escape" && range() && target === document.body) setRange(null);
	}

	// For the tests: the view that is shown.
	get current(): unknown { return this.made.get((this.views().find((one) => one.id === state().view) ?? this.views()[0]!).id); }
}

const app = new App();
(window as unknown as { pitotPage: unknown }).pitotPage = { app, set };
app.start();
