// code_node SECONDS - JavaScript with known shares, for a runtime that compiles at run time. Tells the CPU time.
"use strict";

function quarter(turns) {
  let state = 1;
  for (let i = 0; i < turns; i++) state = (state * 5 + i) & 0xffff;
  return state;
}

function threeQuarters(turns) {
  let state = 1;
  for (let i = 0; i < 3 * turns; i++) state = (state * 5 + i) & 0xffff;
  return state;
}

const seconds = Number(process.argv[2]);
const used = () => process.cpuUsage().user + process.cpuUsage().system;
const end = used() + seconds * 1e6;
let kept = 0;
while (used() < end) kept += quarter(200000) + threeQuarters(200000);
console.log(`truth kept ${kept % 7}`);
console.log(`truth cpu_s ${used() / 1e6}`);
