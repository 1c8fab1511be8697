// What must hold while things move: servers die, tabs come and go, transcripts are long.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { World, becomes } from "./world.mjs";

const world = new World();
/** Counts to 300, and is held at 100 and at 200. */
const COUNTER = (first, second) => `
  for (let number = 1; number <= 300; number += 1) { await say("count " + number); if (number === 100) await held("${first}"); if (number === 200) await held("${second}"); }
  await say(DONE);
`;
before(async () => {
  world.agent("counter", COUNTER("part2", "part3"));
  world.agent("flood", `
    const line = "x".repeat(990) + "\\\\n";
    const chunk = (from) => { let text = ""; for (let number = 0; number < 200; number += 1) text += JSON.stringify({ type: "text", text: String(from + number).padStart(8, "0") + " " + line.slice(0, 980) + "\\n" }) + "\\n"; return text; };
    for (let from = 0; from < 200000; from += 200) if (!process.stdout.write(chunk(from))) await new Promise((go) => process.stdout.once("drain", go));
    await say("the very last line"); await say(DONE);
  `);
  await world.serve();
});
after(() => world.end());

/** Rows of the pane from its first to its last, by scrolling through it: what was shown, in order. */
async function counts(page) {
  const seen = new Set();
  const order = [];
  const box = page.getByRole("log");
  await box.evaluate((element) => element.scrollTo(0, 0));
  for (let step = 0; step < 200; step += 1) {
    const rows = await box.evaluate((element) => [...element.querySelectorAll("[data-index]")].map((row) => [Number(row.dataset.index), row.textContent]));
    for (const [index, text] of rows.sort((one, other) => one[0] - other[0])) if (!seen.has(index)) { seen.add(index); const number = /^count (\d+)$/.exec(text)?.[1]; if (number) order.push([index, Number(number)]); }
    const end = await box.evaluate((element) => { const before = element.scrollTop; element.scrollTop += element.clientHeight * 0.8; return element.scrollTop === before; });
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    if (end) break;
  }
  return order.sort((one, other) => one[0] - other[0]).map(([, number]) => number);
}

test("the server is killed and comes back under an open page: no line is lost, none doubled, nobody reloads", async () => {
  const run = world.start(["run", "Count to three hundred", "--agent", "counter", "--name", "counting", "--json"], { stdio: ["ignore", "ignore", "inherit"] });
  const page = await world.page();
  await page.getByRole("link", { name: /counting/ }).click();
  const log = page.getByRole("log");
  await log.getByText("count 100", { exact: true }).waitFor();
  const port = Number(new URL(world.origin).port);
  world.server.kill("SIGKILL");
  await world.server.gone;
  await page.getByText("The server does not respond.").waitFor();
  world.go("part2");
  await world.serve(port);
  await log.getByText("count 200", { exact: true }).waitFor();
  await page.getByText("The server does not respond.").waitFor({ state: "detached" });
  world.go("part3");
  await page.getByRole("heading", { name: "counting" }).locator("..").getByText("completed").waitFor();
  assert.equal((await run.gone).code, 0);
  await log.getByText("count 300", { exact: true }).waitFor();
  assert.deepEqual(await counts(page), upTo(300));
  await page.context().close();
});

/** What a browser says to a tab that goes behind another. Headless ones never do it by themselves. */
const hide = (page, hidden) => page.evaluate((now) => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => now });
  document.dispatchEvent(new window.Event("visibilitychange"));
}, hidden);
const upTo = (number) => Array.from({ length: number }, (_, index) => index + 1);

test("two tabs: the hidden one gives its connection back and then misses nothing; a slow one gets every line", async () => {
  world.agent("again", COUNTER("four", "five"));
  const loop = await world.loop("Count again", { agent: "again" }, { name: "again" });
  const one = await world.page();
  const other = await one.context().newPage();
  const slow = await one.context().newPage();
  const line = await one.context().newCDPSession(slow);
  await line.send("Network.enable");
  await line.send("Network.emulateNetworkConditions", { offline: false, latency: 300, downloadThroughput: 60_000, uploadThroughput: 60_000 });
  for (const page of [one, other, slow]) {
    await page.goto(`${world.origin}/loops/${loop.id}?tab=monitor`);
    await page.getByRole("log").getByText("count 100", { exact: true }).waitFor();
  }
  const subscribers = async () => (await world.api("GET", "/api/server")).subscribers;
  await becomes(() => subscribers(), 3);
  await hide(other, true);
  await other.locator("[data-connection=hidden]").waitFor();
  await becomes(() => subscribers(), 2, "who is not looked at holds no connection");
  world.go("four");
  await one.getByRole("log").getByText("count 200", { exact: true }).waitFor();
  await slow.getByRole("log").getByText("count 200", { exact: true }).waitFor();
  assert.equal(await other.getByRole("log").getByText("count 200", { exact: true }).count(), 0);
  await hide(other, false);
  await other.getByRole("log").getByText("count 200", { exact: true }).waitFor();
  world.go("five");
  for (const page of [one, other, slow]) {
    await page.getByRole("heading", { name: "again" }).locator("..").getByText("completed").waitFor();
    await page.getByRole("log").getByText("count 300", { exact: true }).waitFor();
    // Only the tab in front has frames at full speed.
    await page.bringToFront();
    assert.deepEqual(await counts(page), upTo(300));
  }
  await one.context().close();
});

test("a transcript of 200 MB opens at its end at once, and can be paged to its beginning", async () => {
  const loop = await world.loop("Write a lot", { agent: "flood" }, { name: "flood" });
  await world.stopped(loop.id);
  const page = await world.page();
  await page.goto(`${world.origin}/loops/${loop.id}?tab=monitor`);
  const log = page.getByRole("log");
  await log.getByText("the very last line").waitFor();
  const rows = () => page.evaluate(() => document.querySelectorAll("[role=log] [data-index]").length);
  assert.ok((await rows()) < 200, "only what is seen is in the page");
  // The number of the oldest line that is in the page, once there is one.
  const first = async () => Number(await (await page.waitForFunction(() => [...document.querySelectorAll("[role=log] [data-index]")].map((row) => row.textContent).filter((text) => /^\d{8} /.test(text)).map((text) => text.slice(0, 8)).sort()[0])).jsonValue());
  const before = await first();
  for (let step = 0; step < 3; step += 1) {
    const at = await first();
    await log.evaluate((element) => element.scrollTo(0, 0));
    await page.waitForFunction((was) => [...document.querySelectorAll("[role=log] [data-index]")].some((row) => /^\d{8} /.test(row.textContent) && Number(row.textContent.slice(0, 8)) < was), at);
  }
  assert.ok((await first()) < before - 100, "older lines came in front");
  const keys = await log.evaluate((element) => [...element.querySelectorAll("[data-index]")].map((row) => row.textContent.slice(0, 8)));
  assert.equal(new Set(keys).size, keys.length, "no line is there twice");
  // A search goes back through all of it, says how far it is, and can be stopped.
  await page.getByRole("button", { name: "Search the output" }).click();
  const box = page.getByRole("searchbox", { name: "Search the output" });
  await box.fill("no such words anywhere");
  await box.press("Enter");
  await page.locator("[data-searched]").getByText("Searched back to").waitFor();
  await page.getByRole("button", { name: "Stop searching" }).click();
  await page.getByRole("button", { name: "Stop searching" }).waitFor({ state: "detached" });
  await box.fill("00190000 xxx");
  await box.press("Enter");
  await log.locator("mark").getByText("00190000 xxx").waitFor();
  // And on again, past what is loaded, to what was written later.
  await box.fill("00195000 xxx");
  await page.locator("[data-searched]").getByText("No match in the loaded output").waitFor();
  await box.press("Shift+Enter");
  await log.locator("mark").getByText("00195000 xxx").waitFor();
  await page.locator("[data-hits]").getByText("1 / 1+").waitFor();
  await box.fill("0019500");
  await page.locator("[data-hits]").getByText(/^\d+\+$/).waitFor();
  await log.focus();
  for (const [key, number] of [["n", "00195009"], ["n", "00195008"], ["N", "00195009"]]) {
    await page.keyboard.press(key);
    await log.locator("[data-hit]").getByText(number).waitFor();
  }
  await page.getByRole("button", { name: /Jump to the latest output/ }).click();
  await log.getByText("the very last line").waitFor();
  await page.getByRole("tab", { name: "Transcript" }).click();
  const raw = page.getByRole("region", { name: "Transcript" });
  await raw.getByText("the very last line").waitFor();
  await becomes(() => page.locator("[data-raw-range]").textContent(), /\/ 2\d\d MB/);
  await page.getByRole("button", { name: /Start/ }).click();
  await raw.getByText("00000000 xxx").first().waitFor();
  await page.context().close();
});
