// dom.ts - elements from data. Whatever comes from a run goes in as text: nothing here, or anywhere in the page, parses HTML.

export type Child = Node | string | number | null | undefined | false | Child[];
type Props = Record<string, unknown>;

function append(parent: Node, children: Child[]): void {
	for (const child of children) {
		if (child === null || child === undefined || child === false) continue;
		if (Array.isArray(child)) append(parent, child);
		else parent.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
	}
}

function apply(element: Element, props: Props): void {
	for (const [name, value] of Object.entries(props)) {
		if (value === null || value === undefined || value === false) continue;
		if (name.startsWith("on")) element.addEventListener(name.slice(2), value as EventListener);
		else if (name === "style") for (const [k, v] of Object.entries(value as Record<string, string>))
			(element as HTMLElement).style.setProperty(k, v);
		else if (name === "hint") setHint(element, value as Hint);
		else element.setAttribute(name, value === true ? "" : String(value));
	}
}

export function h<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props | null, ...children: Child[]):
	HTMLElementTagNameMap[K] {
	const element = document.createElement(tag);
	if (props) apply(element, props);
	append(element, children);
	return element;
}

export function svg(tag: string, props: Props | null, ...children: Child[]): SVGElement {
	const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
	if (props) apply(element, props);
	append(element, children);
	return element;
}

export function clear(element: Element, ...children: Child[]): void {
	element.replaceChildren();
	append(element, children);
}

// Characters that could turn the direction of writing, or that do not show, become their names; long text is cut.
// eslint-disable-next-line no-control-regex
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

export function clean(text: string | null | undefined, most = 300): string {
	if (!text) return "";
	const cut = text.length > most ? text.slice(0, most) + "\u2026" : text;
	return cut.replace(UNSEEN, (c) => c === "\n" || c === "\t" ? " " :
		"\u27e8U+" + c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0") + "\u27e9");
}

// ---- hints: what a number is and where it comes from, on hover and on focus ----

export type Hint = string | (() => Child);
const hints = new WeakMap<Element, Hint>();
let bubble: HTMLElement | null = null;

export function setHint(element: Element, hint: Hint): void {
	hints.set(element, hint);
	element.setAttribute("data-hint", "");
}

export function showBubble(x: number, y: number, content: Child): void {
	if (!bubble) {
		bubble = h("div", { class: "bubble", role: "tooltip" });
		document.body.appendChild(bubble);
	}
	clear(bubble, content);
	bubble.hidden = false;
	const box = bubble.getBoundingClientRect();
	const left = Math.max(8, Math.min(x + 14, innerWidth - box.width - 8));
	const top = y + 18 + box.height > innerHeight ? Math.max(8, y - box.height - 12) : y + 18;
	bubble.style.left = left + "px";
	bubble.style.top = top + "px";
}

export function hideBubble(): void {
	if (bubble) bubble.hidden = true;
}

export function installHints(): void {
	const show = (event: Event, x: number, y: number): void => {
		const element = (event.target as Element).closest?.("[data-hint]");
		const hint = element && hints.get(element);
		if (!hint) return;
		showBubble(x, y, typeof hint === "string" ? hint : hint());
	};
	document.addEventListener("mouseover", (event) => show(event, event.clientX, event.clientY));
	document.addEventListener("mouseout", (event) => {
		if ((event.target as Element).closest?.("[data-hint]")) hideBubble();
	});
	document.addEventListener("focusin", (event) => {
		const box = (event.target as Element).getBoundingClientRect();
		if ((event.target as Element).matches?.(":focus-visible")) show(event, box.left, box.bottom - 10);
	});
	document.addEventListener("focusout", hideBubble);
	document.addEventListener("keydown", (event) => { if (event.key === "Escape") hideBubble(); });
}

// ---- clipboard ----

// A file opened from disk may not use the clipboard's own interface; the old way works there.
export async function copyText(text: string): Promise<void> {
	try {
		await navigator.clipboard.writeText(text);
	} catch {
		const area = h("textarea", { class: "offscreen", "aria-hidden": "true" });
		area.value = text;
		document.body.appendChild(area);
		area.select();
		document.execCommand("copy");
		area.remove();
	}
}

let toastTimer = 0;
export function toast(text: string): void {
	const place = document.getElementById("toast");
	if (!place) return;
	place.textContent = text;
	place.hidden = false;
	clearTimeout(toastTimer);
	toastTimer = window.setTimeout(() => { place.hidden = true; }, 2500);
}
