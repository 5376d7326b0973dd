"use strict";
// What a flame graph does when it is open in a browser: zoom on click, search, details on hover, turning it over.
// The graph is complete without this script. Every frame is a nested <svg class="f">: data-x is where it begins and data-t
// how long it is, in nanoseconds or bytes (data-unit of the graph) of all; data-s is its self time, data-at its file and line. Positions are per cent, so the
// browser keeps the graph as wide as its window.
(function () {
	const graph = document.currentScript.parentNode;
	const head = Number(graph.dataset.head), row = Number(graph.dataset.row);
	const input = graph.querySelector("input"), result = graph.querySelector("output");
	const tip = graph.querySelector(".tip"), tipPlace = tip.parentNode;
	const frames = Array.from(graph.querySelectorAll("svg.f"), function (element) {
		const text = element.querySelector("text");
		return {
			element, text, name: text.textContent, at: element.dataset.at || "",
			x: Number(element.dataset.x), total: Number(element.dataset.t), self: Number(element.dataset.s),
			depth: Math.round((Number(element.getAttribute("y")) - head) / row), shown: true,
		};
	});
	const depth = frames.reduce((most, frame) => Math.max(most, frame.depth), 0);
	const root = frames[0];
	let zoomed = root, rootBelow = false;

	function percent(part, whole) {
		return whole ? (100 * part / whole).toFixed(2) + " %" : "0 %";
	}

	function amount(weight) {
		if (graph.dataset.unit !== "bytes")
			return (weight / 1e9).toPrecision(3) + " s";
		const units = ["B", "KiB", "MiB", "GiB", "TiB"];
		let unit = 0;
		for (; weight >= 1000 && unit + 1 < units.length; unit++)
			weight /= 1024;
		return (unit ? weight.toPrecision(3) : weight) + " " + units[unit];
	}

	// A name that does not fit ends with an ellipsis; where three letters do not fit, none is shown.
	function fitText() {
		const width = graph.getBoundingClientRect().width;
		for (const frame of frames) {
			if (!frame.shown)
				continue;
			const pixels = width * parseFloat(frame.element.getAttribute("width")) / 100;
			const letters = Math.floor((pixels - 6) / 7.3);
			frame.element.classList.toggle("thin", pixels < 2.5);
			frame.text.style.display = letters < 3 ? "none" : "";
			if (letters >= 3)
				frame.text.textContent = frame.name.length <= letters ? frame.name
					: frame.name.slice(0, letters - 1) + "…";
		}
	}

	function zoom(to) {
		zoomed = to;
		for (const frame of frames) {
			const outer = frame.depth < to.depth && frame.x <= to.x && frame.x + frame.total >= to.x + to.total;
			const inner = frame.depth >= to.depth && frame.x >= to.x && frame.x + frame.total <= to.x + to.total;
			frame.shown = outer || inner;
			frame.element.style.display = frame.shown ? "" : "none";
			frame.element.classList.toggle("outer", outer);
			if (!frame.shown)
				continue;
			frame.element.setAttribute("x", outer || !to.total ? "0%" : 100 * (frame.x - to.x) / to.total + "%");
			frame.element.setAttribute("width", outer || !to.total ? "100%" : 100 * frame.total / to.total + "%");
		}
		fitText();
		search();
	}

	function turn() {
		rootBelow = !rootBelow;
		for (const frame of frames)
			frame.element.setAttribute("y", head + row * (rootBelow ? depth - frame.depth : frame.depth));
	}

	// Time within any match, each moment once although matches lie within each other.
	function matchedTime(found) {
		let time = 0, end = -1;
		found.sort((a, b) => a.x - b.x || b.total - a.total);
		for (const frame of found) {
			if (frame.x < end)
				continue;
			time += frame.total;
			end = frame.x + frame.total;
		}
		return time;
	}

	function search() {
		let pattern = null;
		try {
			pattern = input.value ? new RegExp(input.value, "i") : null;
			result.textContent = "";
		} catch (error) {
			result.textContent = "not a regular expression";
		}
		const found = [];
		for (const frame of frames) {
			const matches = pattern !== null && frame !== root && (pattern.test(frame.name) || pattern.test(frame.at));
			frame.element.classList.toggle("found", matches);
			if (matches && frame.shown && frame.depth >= zoomed.depth)
				found.push(frame);
		}
		graph.classList.toggle("searching", pattern !== null);
		if (pattern !== null)
			result.textContent = found.length + " frames, " + percent(matchedTime(found), zoomed.total);
	}

	function reset() {
		input.value = "";
		zoom(root);
	}

	function frameOf(event) {
		const element = event.target.closest ? event.target.closest("svg.f") : null;
		return element ? frames.find((frame) => frame.element === element) : null;
	}

	function line(tag, text) {
		const element = document.createElementNS("http://www.w3.org/1999/xhtml", tag);
		element.textContent = text;
		tip.append(element);
	}

	function details(event) {
		const frame = frameOf(event);
		tip.style.display = frame ? "" : "none";
		if (!frame)
			return;
		tip.textContent = "";
		line("b", frame.name);
		line("div", frame.at);
		line("div", "total " + amount(frame.total) + ", " + percent(frame.total, root.total));
		line("div", "self " + amount(frame.self) + ", " + percent(frame.self, root.total));
		// Beside the pointer, on the side where there is room.
		const box = graph.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
		const left = event.clientX + 12 + tip.offsetWidth > window.innerWidth;
		const above = event.clientY + 12 + tip.offsetHeight > window.innerHeight || y + 12 + tip.offsetHeight > box.height;
		tipPlace.setAttribute("x", Math.max(0, left ? x - tip.offsetWidth - 12 : x + 12));
		tipPlace.setAttribute("y", Math.max(0, above ? y - tip.offsetHeight - 12 : y + 12));
	}

	graph.addEventListener("click", function (event) {
		const frame = frameOf(event);
		if (frame)
			zoom(frame);
	});
	graph.addEventListener("mousemove", details);
	graph.addEventListener("mouseleave", () => { tip.style.display = "none"; });
	graph.querySelector("button.reset").addEventListener("click", reset);
	graph.querySelector("button.turn").addEventListener("click", turn);
	input.addEventListener("input", search);
	window.addEventListener("resize", fitText);
	window.addEventListener("keydown", function (event) {
		const typing = event.target === input;
		tip.style.display = "none";
		if (event.key === "Escape") {
			reset();
			input.blur();
		} else if ((event.key === "f" && (event.ctrlKey || event.metaKey)) || (event.key === "/" && !typing)) {
			event.preventDefault();
			input.focus();
			input.select();
		}
	});
	graph.querySelector(".bar").style.display = "";
	tip.style.display = "none";
	fitText();
})();
