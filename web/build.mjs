// build.mjs OUT - bundles src/main.ts and src/style.css and writes them as the C strings that src/render/page_html.c includes.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const out = process.argv[2];

async function bundle(entry) {
	const result = await build({
		entryPoints: [path.join(here, "src", entry)],
		bundle: true,
		minify: true,
		write: false,
		target: ["chrome109", "firefox115", "safari16.4"],
		format: "iife",
		charset: "ascii",
		legalComments: "none",
		logLevel: "warning",
	});
	// Neither may end the element that it stands in.
	return result.outputFiles[0].text.trim().replace(/<\/(script|style)/gi, "<\\/$1").replace(/<!--/g, "<\\!--");
}

const hash = (text) => "'sha256-" + createHash("sha256").update(text).digest("base64") + "'";

// A question mark is escaped because "??=" is a trigraph in C, and a long literal becomes short ones side by side.
function literal(text) {
	const lines = [];
	for (let at = 0; at < text.length; at += 100) {
		const part = text.slice(at, at + 100).replace(/[\\"?]/g, "\\$&").replace(/\n/g, "\\n").replace(/\t/g, "\\t");
		lines.push('\t"' + part + '"');
	}
	return lines.join("\n");
}

const style = await bundle("style.css"), script = await bundle("main.ts");
if (/[^\x09\x0a\x20-\x7e]/.test(style + script))
	throw new Error("the bundle has characters that are not ASCII");
writeFileSync(out, `/* Made by web/build.mjs. */
static const char page_missing[] = "";
static const char page_style[] =
${literal(style)};
static const char page_script[] =
${literal(script)};
#define PAGE_HASHES "script-src ${hash(script)}; style-src ${hash(style)}; "
`);
