// served.mjs - the page as `pitot serve` hands it out: over a history of real runs, and live while one goes on.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { build, file, folder, here, json, near, open, rows } from "./harness.mjs";

const program = path.join(build, "pitot");

// A history with the runs a and b and a file that is none.
async function withServer(work, more = []) {
	const history = path.join(folder, "served");
	fs.rmSync(history, { recursive: true, force: true });
	fs.mkdirSync(history, { recursive: true });
	for (const name of ["a.pitot", "b.pitot", ...more]) fs.copyFileSync(file(name), path.join(history, name));
	fs.writeFileSync(path.join(history, "noise.pitot"), Buffer.alloc(9000, "<b>x</b>"));
	const server = spawn(program, ["serve", "--history", history], { stdio: ["ignore", "pipe", "pipe"] });
	try {
		const address = await new Promise((done, fail) => {
			let said = "";
			const listen = (bytes) => {
				said += bytes;
				const found = /http:\/\/127\.0\.0\.1:\d+\/\w+\//.exec(said);
				if (found) done(found[0]);
			};
			server.stdout.on("data", listen);
			server.stderr.on("data", listen);
			server.on("exit", () => fail(new Error("pitot serve ended: " + said)));
		});
		await work(address, history);
	} finally {
		server.removeAllListeners("exit");
		server.kill("SIGTERM");
		await new Promise((done) => { server.on("exit", done); });
	}
}

export const served = () => ({
	async a_served_run_has_its_memory_view() {
		const { types } = json("memory.pitot").stages[0].memory;
		await withServer((address) => open(address + "#memory?run=memory.pitot", async (tab) => {
			await tab.waitForSelector('table[aria-label="Objects by type"] tbody tr');
			assert.deepEqual((await rows(tab, "Objects by type")).map((row) => row[1].value), types.rows.slice(0, 20).map((row) => row.bytes));
		}, { served: true }), ["memory.pitot"]);
	},

	async a_served_page_lists_the_history_opens_runs_and_compares_two() {
		await withServer((address) => open(address, async (tab) => {
			await tab.waitForSelector('table[aria-label="Runs"] tbody tr');
			const list = await rows(tab, "Runs");
			assert.deepEqual(list.map((row) => row.at(-1).text.split(" ")[0]).sort(), ["a.pitot", "b.pitot", "noise.pitot"]);
			assert.ok(list.find((row) => row.at(-1).text.startsWith("noise.pitot"))[2].text === "damaged");
			// A point of the trend names its run, and leads to it.
			await tab.waitForSelector(".trend canvas");
			await tab.focus(".trend-plot");
			await tab.keyboard.press("ArrowLeft");
			assert.ok((await tab.textContent(".bubble")).includes("run 1 of 2"));
			assert.ok((await tab.textContent(".bubble")).includes("a.pitot"));
			await tab.keyboard.press("Enter");
			await tab.waitForSelector("#total");
			assert.ok((await tab.evaluate(() => location.hash)).includes("run=a.pitot"));
			await tab.goBack();
			await tab.waitForSelector('table[aria-label="Runs"] tbody tr');
			await tab.click('table[aria-label="Runs"] >> text=a.pitot');
			await tab.waitForSelector("#total");
			near((await rows(tab, "Stages"))[0][1].value, json("a.pitot").stages[0].duration_s, 1e-9);
			await tab.click("text=Flame graph");
			near(Number(await tab.getAttribute("#flame-summary", "data-value")), json("a.pitot").stages.reduce((sum, stage) => sum + (stage.profile?.seconds ?? 0), 0), 0.001);
			await tab.click("text=History");
			await tab.waitForSelector('table[aria-label="Runs"] tbody tr');
			await tab.check('[aria-label="A: a.pitot"]');
			await tab.check('[aria-label="B: b.pitot"]');
			await tab.click("text=Compare A with B");
			await tab.waitForSelector("#summary");
			const change = (await rows(tab, "Changes")).find((row) => row[1].text === "compute" && row[2].text === "wall_s");
			near(change[3].value, json("a.pitot").stages[0].duration_s, 1e-9);
			near(change[4].value, json("b.pitot").stages[0].duration_s, 1e-9);
			await tab.goBack();
			await tab.waitForSelector('table[aria-label="Runs"] tbody tr');
		}, { served: true }));
	},

	async a_live_run_grows_on_the_page_until_it_ends() {
		await withServer(async (address, history) => {
			const gate = file("gate"), before = fs.readdirSync(history);
			const run = spawn(program, ["run", "--history", history, "--quiet", "--", "sh", "-c", `until [ -e ${gate} ]; do sleep 0.05; done`], { cwd: here, stdio: "ignore" });
			const ended = new Promise((done) => { run.on("exit", done); });
			let name;
			for (let i = 0; i < 400 && !name; i++) {
				name = fs.readdirSync(history).find((one) => one.endsWith(".pitot") && !before.includes(one));
				await new Promise((done) => { setTimeout(done, 25); });
			}
			await open(`${address}#overview?run=${name}`, async (tab) => {
				await tab.waitForFunction(() => document.querySelector(".top .status")?.textContent === "running", null, { timeout: 20000 });
				assert.ok((await tab.textContent('table[aria-label="Stages"]')).includes("running"));
				fs.writeFileSync(gate, "");
				await ended;
				await tab.waitForFunction(() => document.querySelector(".top .status")?.textContent === "ok", null, { timeout: 20000 });
			}, { served: true });
		});
	},

	async what_the_server_cannot_show_is_said_in_its_words() {
		await withServer((address) => assert.rejects(open(address + "#overview?run=gone.pitot", async (tab) => {
			await tab.waitForSelector(".problem");
			assert.ok((await tab.textContent(".problem")).includes("gone.pitot"));
			throw new Error("shown");
		}, { served: true }), /shown/));
	},
});
