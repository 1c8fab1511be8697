// The page's figures: from an agent's line to the DOM, beside a bare SSE client of the same run; what an hour of output
// costs the page; how 2,000 loops scroll. `npm run figures`, or `npm run figures -- latency`,
// `-- hour`, `-- list` or `-- initial`. It ends with 1 if an aim is not met; a measurement that takes too long is given up.

import { availableParallelism, loadavg } from "node:os";
import { World } from "./world.mjs";

const LINES = 1_000;
/** The first lines find a page and a connection that are still warming up. */
const WARM = 100;
/** An hour at fifty lines a second. */
const HOUR = 180_000;
const MARKS = [0.1, 0.25, 0.5, 0.75, 1].map((part) => HOUR * part);

const world = new World();
world.agent("ticker", `
  await held("ticks-" + /ticks beside (\\d+)/.exec(prompt)[1]);
  for (let number = 0; number < ${LINES}; number += 1) { await say("tick " + number + " " + (performance.timeOrigin + performance.now()).toFixed(3)); await new Promise((go) => setTimeout(go, 10)); }
  await say(DONE);
`);
// A shell that waits without a process of its own: a hundred of them cost next to nothing.
world.profile("neighbour", ["bash", "-c", `exec 3<> <(:); while :; do echo '{"type":"text","text":"noise, noise, noise\\n"}'; read -t 0.2 -u 3; done`]);
world.agent("writer", `
  for (let number = 1; number <= ${HOUR}; number += 1) {
    // Line by line, as agents write, only without the time between.
    if (number === 1) await held("after-0");
    await say("line " + number + " of an hour of work, with \\u001b[32mcolour\\u001b[0m in it");
    if (${JSON.stringify(MARKS)}.includes(number)) await held("after-" + number);
  }
  await say(DONE);
`);
world.agent("quick", `await say(DONE);`);
world.top("max_running = 200\nmax_iterations = 1\n");

const now = () => performance.timeOrigin + performance.now();
const at = (part, sorted) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
const table = [];
/** Said at once as well: whoever ends a long run keeps what it has measured. */
const row = (...cells) => { table.push(cells); console.log(cells.join(" | ")); };
const reached = new Map();
const aims = (name, met) => reached.set(name, met);

async function latency(neighbours) {
  const others = [];
  for (let number = 0; number < neighbours; number += 1) others.push(await world.loop(`noise ${number}`, { agent: "neighbour" }));
  for (const loop of others) await world.until(loop.id, (item) => item.type === "text");
  const page = await world.page();
  await page.addInitScript(() => {
    window.seen = new Map();
    const look = (nodes) => {
      const time = performance.timeOrigin + performance.now();
      for (const node of nodes) {
        for (const found of (node.textContent ?? "").matchAll(/tick (\d+) (\d+\.\d{3})/g)) if (!window.seen.has(Number(found[1]))) window.seen.set(Number(found[1]), time - Number(found[2]));
      }
    };
    new MutationObserver((changes) => look(changes.flatMap((change) => (change.type === "childList" ? [...change.addedNodes] : [change.target])))).observe(document, { subtree: true, childList: true, characterData: true });
  });
  const loop = await world.loop(`ticks beside ${neighbours}`, { agent: "ticker" });
  await page.goto(`${world.origin}/loops/${loop.id}?tab=monitor`);
  await page.locator("[data-connection=open]").waitFor();
  const bare = new Map();
  const read = world.until(loop.id, (item) => {
    if (item.type === "text") for (const found of item.text.matchAll(/tick (\d+) (\d+\.\d{3})/g)) bare.set(Number(found[1]), now() - Number(found[2]));
    return item.type === "loop_stopped";
  });
  world.go(`ticks-${neighbours}`);
  await read;
  await page.waitForFunction((last) => window.seen.has(last), LINES - 1, { timeout: 120_000 });
  const seen = new Map(await page.evaluate(() => [...window.seen]));
  for (const [name, values, aim] of [["bare SSE client (reference)", bare], ["DOM of the page", seen, 50]]) {
    const sorted = [...values].filter(([number]) => number >= WARM).map(([, ms]) => ms).sort((one, other) => one - other);
    if (sorted.length !== LINES - WARM) throw new Error(`${name}: ${sorted.length} of ${LINES - WARM} lines`);
    row(`an agent's line → ${name}, beside ${neighbours} loops that write`, `p50 ${at(0.5, sorted).toFixed(1)} ms`, `p99 ${at(0.99, sorted).toFixed(1)} ms`, `worst ${at(1, sorted).toFixed(1)} ms`);
    if (aim) aims(`line to DOM beside ${neighbours} loops: p99 at most ${aim} ms`, at(0.99, sorted) <= aim);
  }
  await page.context().close();
}

async function hour() {
  const page = await world.page();
  const loop = await world.loop("an hour of lines", { agent: "writer" });
  await page.goto(`${world.origin}/loops/${loop.id}?tab=monitor`);
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable");
  await page.locator("[data-connection=open]").waitFor();
  world.go("after-0");
  const heaps = [];
  for (const mark of MARKS) {
    await page.waitForFunction((wanted) => [...document.querySelectorAll("[role=log] [data-index]")].some((each) => Number(/^line (\d+)/.exec(each.textContent)?.[1] ?? 0) >= wanted), mark, { timeout: 600_000, polling: 100 });
    await session.send("HeapProfiler.collectGarbage");
    const { usedSize } = await session.send("Runtime.getHeapUsage");
    heaps.push(usedSize);
    const { metrics } = await session.send("Performance.getMetrics");
    const metric = (name) => metrics.find((each) => each.name === name).value;
    row(`the page after ${mark} lines (${Math.round((mark / HOUR) * 60)} minutes' worth)`, `heap ${(usedSize / 1e6).toFixed(1)} MB`, `${metric("Nodes")} nodes`, `${metric("TaskDuration").toFixed(1)} s of work`);
    world.go(`after-${mark}`);
  }
  // The window is full at the second mark; from there on the page must not grow.
  aims("the heap does not grow after the first quarter", heaps.at(-1) <= heaps[1] * 1.5);
  aims("an hour of output: at most 40 MB of heap", heaps.at(-1) <= 40e6);
  await page.context().close();
}

/** A list of so many loops, scrolled with the wheel. The loops are one real summary, again and again with other names. */
const LOOPS = 2_000;
async function list() {
  const made = await world.loop("one of many", { agent: "quick" });
  await world.stopped(made.id);
  const { loops: [one] } = await world.api("GET", "/api/loops?limit=1");
  const many = Array.from({ length: LOOPS }, (_, index) => ({ ...one, id: `00000000-0000-7000-8000-${String(index).padStart(12, "0")}`, name: `loop-${index}` }));
  const page = await world.page();
  await page.route(/\/api\/loops(\?|$)/, (route) => route.fulfill({ json: { loops: many, next: null, total: LOOPS, counts: { completed: LOOPS } } }));
  await page.goto(world.origin);
  await page.getByText(`${LOOPS.toLocaleString("en")} loops`).or(page.getByText(`${LOOPS} loops`)).first().waitFor();
  // The thread's own time, which a busy machine does not stretch as it stretches frames.
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.setTimeDomain", { timeDomain: "threadTicks" });
  await session.send("Performance.enable");
  const worked = async () => (await session.send("Performance.getMetrics")).metrics.find((each) => each.name === "TaskDuration").value;
  const before = await worked();
  const frames = await page.evaluate(async () => {
    const scroller = [...document.querySelectorAll("main, main *")].find((each) => each.scrollHeight > each.clientHeight + 1_000 && /auto|scroll/.test(getComputedStyle(each).overflowY)) ?? document.scrollingElement;
    const times = [];
    await new Promise((done) => {
      let last = performance.now();
      const step = (now) => {
        times.push(now - last);
        last = now;
        scroller.scrollTop += 120;
        if (times.length < 600) requestAnimationFrame(step);
        else done();
      };
      requestAnimationFrame(step);
    });
    return { times: times.slice(5), nodes: document.querySelectorAll("*").length, top: scroller.scrollTop };
  });
  const each = ((await worked()) - before) * 1_000 / 600;
  if (frames.top < 10_000) throw new Error(`the list did not scroll: ${frames.top}`);
  const sorted = frames.times.sort((a, b) => a - b);
  const mean = sorted.reduce((sum, ms) => sum + ms, 0) / sorted.length;
  row(`scrolling a list of ${LOOPS} loops`, `${(1_000 / mean).toFixed(0)} frames a second`, `p99 ${at(0.99, sorted).toFixed(1)} ms a frame`, `${frames.nodes} nodes, ${each.toFixed(1)} ms of the page's thread a frame`);
  aims(`${LOOPS} loops: a frame takes at most 16 ms of the page's thread`, each <= 16);
  aims(`${LOOPS} loops scroll at 60 frames a second`, 1_000 / mean >= 59);
  await page.context().close();
}

/** What a browser loads before it shows anything, compressed. */
async function initial() {
  const page = await world.page();
  let size = 0;
  const context = await page.context().newCDPSession(page);
  await context.send("Network.enable");
  await context.send("Network.setCacheDisabled", { cacheDisabled: true });
  const scripts = new Set();
  context.on("Network.responseReceived", ({ requestId, type }) => { if (type === "Script") scripts.add(requestId); });
  context.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => { if (scripts.has(requestId)) size += encodedDataLength; });
  await page.goto(world.origin);
  await page.locator("[data-connection=open]").waitFor();
  row("JavaScript of the first page, as sent, with headers and the words of its language", `${(size / 1e3).toFixed(0)} KB`, `${scripts.size} files`, "");
  aims("the first page loads at most 200 KB of JavaScript", size <= 200e3);
  await page.context().close();
}

/** So long may one measurement take, in seconds. What takes longer is told as such, and the others go on. */
const LONGEST = Number(process.env.FIGURE_SECONDS ?? 300);
async function bounded(name, work) {
  const began = now();
  const load = loadavg()[0].toFixed(1);
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`no result within ${LONGEST} s`)), LONGEST * 1_000); });
  try {
    const working = work();
    working.catch(() => {}); // It may end later, of what is taken from it below.
    await Promise.race([working, late]);
  } catch (error) {
    row(name, `no figure: ${String(error.message ?? error).split("\n", 1)[0]}`, "", "");
    aims(name, false);
  } finally {
    clearTimeout(timer);
    for (const context of world.chromium?.contexts() ?? []) await context.close();
    await Promise.all((await world.api("GET", "/api/loops")).loops.filter((loop) => !loop.stopped_at).map((loop) => world.api("POST", `/api/loops/${loop.id}/stop`, {}).catch(() => {})));
    console.log(`${name}: ${((now() - began) / 1_000).toFixed(0)} s, load ${load} before it`);
  }
}

const MEASURES = { initial: [initial], list: [list], hour: [hour], latency: [() => latency(0), () => latency(Number(process.env.NEIGHBOURS ?? 100))] };
const only = process.argv[2];
try {
  await world.serve();
  for (const [name, works] of Object.entries(MEASURES)) {
    if (only && only !== name) continue;
    for (const [index, work] of works.entries()) await bounded(works.length > 1 ? `${name} ${index + 1}` : name, work);
  }
} finally {
  await world.end();
  console.log(`\n${availableParallelism()} cores, load ${loadavg()[0].toFixed(1)} at the end\n\n| what | | | |\n|---|---|---|---|`);
  for (const cells of table) console.log(`| ${cells.join(" | ")} |`);
  console.log("");
  for (const [aim, met] of reached) console.log(`${met ? "met" : "NOT MET"}: ${aim}`);
  if ([...reached.values()].includes(false)) process.exitCode = 1;
}
