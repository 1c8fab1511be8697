// The page's figures: from an agent's line to the DOM, beside a bare SSE client of the same run; memory of the page over
// an hour's worth of output. `npm run figures`

import { readFileSync, writeFileSync } from "node:fs";
import { World } from "./world.mjs";

const LINES = 1_000;
const world = new World();
world.agent("ticker", `for (let number = 0; number < ${LINES}; number += 1) { await say("tick " + number + " " + (performance.timeOrigin + performance.now()).toFixed(3)); await new Promise((go) => setTimeout(go, 10)); } await say(DONE);`);
world.agent("neighbour", `for (let number = 0; ; number += 1) { await say("noise " + number); await new Promise((go) => setTimeout(go, 200)); }`);
world.agent("writer", `
  let number = 0;
  for (let batch = 0; batch < 2000; batch += 1) {
    let text = "";
    for (let line = 0; line < 1000; line += 1) { number += 1; text += "line " + number + " of an hour of work, with \\u001b[32mcolour\\u001b[0m in it\\n"; }
    await event({ type: "text", text });
  }
  await say("the last of them"); await say(DONE);
`);
writeFileSync(world.config, `max_running = 200\nmax_iterations = 1\n${readFileSync(world.config, "utf8")}`);
await world.serve();

const at = (part, sorted) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
const show = (name, values) => {
  const sorted = values.toSorted((one, other) => one - other);
  console.log(`${name.padEnd(46)} p50 ${at(0.5, sorted).toFixed(1).padStart(6)} ms   p99 ${at(0.99, sorted).toFixed(1).padStart(6)} ms   (${values.length} lines)`);
  return { p50: at(0.5, sorted), p99: at(0.99, sorted) };
};
const now = () => performance.timeOrigin + performance.now();

async function latency(neighbours) {
  const others = [];
  for (let number = 0; number < neighbours; number += 1) {
    const loop = await world.loop(`noise ${number}`, { agent: "neighbour" });
    others.push(loop);
  }
  for (const loop of others) await world.until(loop.id, (item) => item.type === "text");
  const page = await world.page();
  await page.addInitScript(() => {
    window.seen = new Map();
    const look = () => {
      const time = performance.timeOrigin + performance.now();
      for (const row of document.querySelectorAll("[role=log] [data-index]")) {
        const found = /^tick (\d+) ([\d.]+)$/.exec(row.textContent);
        if (found && !window.seen.has(found[1])) window.seen.set(found[1], time - Number(found[2]));
      }
    };
    new MutationObserver(look).observe(document, { subtree: true, childList: true, characterData: true });
  });
  const loop = await world.loop(`ticks beside ${neighbours}`, { agent: "ticker" });
  await page.goto(`${world.origin}/loops/${loop.id}`);
  const bare = [];
  await world.until(loop.id, (item) => {
    if (item.type === "text") for (const found of item.text.matchAll(/tick \d+ ([\d.]+)/g)) bare.push(now() - Number(found[1]));
    return item.type === "loop_stopped";
  });
  await page.getByText(`tick ${LINES - 1} `).waitFor();
  // What was said before the page was open is no measure of it.
  const inPage = await page.evaluate(() => [...window.seen.values()]);
  console.log(`\n${neighbours} other loops writing five lines a second each`);
  show("agent's line → bare SSE client (reference)", bare.slice(-inPage.length).slice(100));
  show("agent's line → DOM of the page", inPage.slice(100));
  await page.context().close();
  for (const other of others) await world.api("POST", `/api/loops/${other.id}/stop`);
}

async function memory() {
  const page = await world.page();
  const loop = await world.loop("two million lines", { agent: "writer" });
  await page.goto(`${world.origin}/loops/${loop.id}`);
  const session = await page.context().newCDPSession(page);
  const heap = async () => {
    await session.send("HeapProfiler.collectGarbage");
    return (await session.send("Runtime.getHeapUsage")).usedSize / 1e6;
  };
  console.log("\nmemory of the page while two million lines stream through it (an hour at 550 lines a second)");
  for (const mark of [100_000, 500_000, 1_000_000, 1_500_000, 2_000_000]) {
    await page.waitForFunction((wanted) => {
      let last = 0;
      for (const row of document.querySelectorAll("[role=log] [data-index]")) last = Math.max(last, Number(/^line (\d+)/.exec(row.textContent)?.[1] ?? 0));
      return last >= wanted;
    }, mark, { timeout: 600_000, polling: 100 });
    console.log(`${String(mark).padStart(9)} lines: heap ${(await heap()).toFixed(1)} MB, ${await page.evaluate(() => document.querySelectorAll("*").length)} elements`);
  }
  await page.context().close();
}

const only = process.argv[2];
try {
  if (!only || only === "latency") {
    await latency(0);
    await latency(Number(process.env.NEIGHBOURS ?? 100));
  }
  if (!only || only === "memory") await memory();
} finally {
  await world.end();
}
