// format.ts - numbers as people read them; the same rules as src/render/format.c, so that page and terminal agree.

function three(value: number, unit: string): string {
	const size = Math.abs(value);
	const decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
	return value.toFixed(decimals) + (unit ? "\u00a0" + unit : "");
}

const two = (value: number): string => String(value).padStart(2, "0");

export function seconds(value: number | null | undefined): string {
	if (value === null || value === undefined || !Number.isFinite(value)) return "n/a";
	if (value === 0) return "0\u00a0s";
	const size = Math.abs(value), sign = value < 0 ? "-" : "";
	const steps: [number, number, string][] = [[999.5e-9, 1e9, "ns"], [999.5e-6, 1e6, "\u00b5s"], [999.5e-3, 1e3, "ms"],
		[59.95, 1, "s"]];
	for (const [below, scale, unit] of steps)
		if (size < below) return three(value * scale, unit);
	if (size < 3599.5) return `${sign}${Math.floor(Math.round(size) / 60)}m ${two(Math.round(size) % 60)}s`;
	const minutes = Math.round(size / 60), hours = Math.round(size / 3600);
	if (minutes < 24 * 60) return `${sign}${Math.floor(minutes / 60)}h ${two(minutes % 60)}m`;
	return `${sign}${Math.floor(hours / 24)}d ${two(hours % 24)}h`;
}

export function bytes(value: number | null | undefined): string {
	if (value === null || value === undefined || !Number.isFinite(value)) return "n/a";
	const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
	let unit = 0;
	while (Math.abs(value) >= 1023.5 && unit < units.length - 1) {
		value /= 1024;
		unit++;
	}
	return value.toFixed(unit > 0 && Math.abs(value) < 99.95 ? 1 : 0) + "\u00a0" + units[unit];
}

function thousands(value: number, steps: string[], unit: string): string {
	let step = 0;
	while (Math.abs(value) >= 999.5 && step < steps.length - 1) {
		value /= 1000;
		step++;
	}
	return three(value, steps[step] + unit);
}

export function count(value: number | null | undefined): string {
	if (value === null || value === undefined || !Number.isFinite(value)) return "n/a";
	if (Math.abs(value) < 9999.5)
		return value.toFixed(value === Math.floor(value) || Math.abs(value) >= 999.95 ? 0 : 1);
	return thousands(value, ["", "k", "M", "G", "T"], "");
}

export function percent(value: number | null | undefined): string {
	if (value === null || value === undefined || !Number.isFinite(value)) return "n/a";
	if (value > 0 && value < 0.05) return "<0.1\u00a0%";
	if (value === 0) return "0\u00a0%";
	return value.toFixed(Math.abs(value) < 9.95 ? 1 : 0) + "\u00a0%";
}

export function share(value: number | null | undefined): string {
	return value === null || value === undefined ? "n/a" : percent(100 * value);
}

export function si(value: number | null | undefined, unit: string): string {
	if (value === null || value === undefined || !Number.isFinite(value)) return "n/a";
	if (value === 0) return "0\u00a0" + unit;
	return thousands(value * 1000, ["m", "", "k", "M", "G", "T", "P"], unit);
}

export function quantity(value: number | null | undefined, unit: string): string {
	switch (unit) {
	case "s": return seconds(value);
	case "bytes": return bytes(value);
	case "count": return count(value);
	case "percent": return percent(value);
	case "J": return si(value, "J");
	case "W": return si(value, "W");
	default: return value === null || value === undefined ? "n/a" : Number(value.toPrecision(3)).toString();
	}
}
