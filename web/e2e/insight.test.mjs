// Where time and money went: the graph over time, usage with its limits, the page over all loops.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { World, becomes, violations } from "./world.mjs";

const world = new World();
let tried;
before(async () => {
  world.agent("trier", `append("try.txt", "try " + iteration + "\\n"); await usage(1000, 200, 0.5, iteration > 2 ? "haiku" : "opus"); await say("Attempt " + iteration + " is done."); await say(DONE);`);
  world.agent("worker", `append("work.txt", "more\\n"); await usage(1000, 200, 1.5, "opus"); await say(DONE);`);
  world.agent("patient", `await usage(1000, 200, 0.25, "opus"); await say("I wait."); await held("go"); await say(DONE);`);
  await world.serve();
  tried = await world.loop("Try it", { agent: "trier", gates: ["echo seen; test -f never"], max_iterations: 3, budget_usd: 4 }, { name: "tried" });
  await world.stopped(tried.id);
  await world.stopped((await world.loop("Do it", { agent: "worker", gates: ["test -f work.txt"] }, { name: "done" })).id);
});
after(() => world.end());

test("graph_has_bars_by_role_and_each_opens_its_words", async () => {
  const page = await world.page();
  await page.goto(`${world.origin}/loops/${tried.id}?tab=timeline`);
  const graph = page.locator("[data-graph]");
  await graph.locator("[data-bar=coder]").nth(2).waitFor();
  // Runs on the base, and one for each iteration.
  await graph.locator("[data-bar=gates][data-tone=bad]").nth(3).waitFor();
  const all = await graph.locator("[data-bar]").count();
  await graph.locator("[data-bar=coder]").nth(1).click();
  await graph.locator("[data-bar-details]").getByText("Attempt 2 is done.").waitFor();
  await graph.locator("[data-bar=gates]").last().click();
  await graph.locator("[data-bar-details] pre").getByText("seen").waitFor();
  // Zoomed in, the first bars are out of sight; all of them come back.
  await graph.getByRole("group").last().focus();
  for (let press = 0; press < 3; press += 1) await page.keyboard.press("+");
  for (let press = 0; press < 40; press += 1) await page.keyboard.press("ArrowRight");
  await page.waitForFunction((wanted) => document.querySelectorAll("[data-bar]").length < wanted, all);
  await graph.getByRole("button", { name: "Show all" }).click();
  await page.waitForFunction((wanted) => document.querySelectorAll("[data-bar]").length === wanted, all);
  // A part is chosen by dragging in the overview.
  const strip = await graph.locator("[data-overview-strip]").boundingBox();
  await page.mouse.move(strip.x + strip.width * 0.7, strip.y + 10);
  await page.mouse.down();
  await page.mouse.move(strip.x + strip.width, strip.y + 10, { steps: 4 });
  await page.mouse.up();
  await page.waitForFunction((wanted) => document.querySelectorAll("[data-bar]").length < wanted, all);
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

test("bars_are_walked_with_the_arrow_keys_and_axe_finds_nothing_on_a_phone", async () => {
  const page = await world.page({ viewport: { width: 390, height: 844 }, hasTouch: true });
  await page.goto(`${world.origin}/loops/${tried.id}?tab=timeline`);
  await page.locator("[data-bar=coder]").nth(2).waitFor();
  await becomes(() => page.locator("[data-bar][tabindex='0']").count(), 1, "one stop of the Tab key, however many bars");
  const here = () => page.evaluate(() => document.activeElement?.getAttribute("data-key") ?? "");
  await page.locator("[data-bar][tabindex='0']").focus();
  const first = await here();
  await page.keyboard.press("ArrowRight");
  await becomes(async () => (await here()) !== first, true);
  for (let press = 0; press < 20; press += 1) await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await page.locator("[data-bar-details]").waitFor();
  for (let press = 0; press < 20; press += 1) await page.keyboard.press("ArrowLeft");
  await becomes(here, first);
  assert.deepEqual(await violations(page), []);
  await page.context().close();
});

test("turn_under_way_grows_in_the_graph", async () => {
  const loop = await world.loop("Wait", { agent: "patient" }, { name: "waits" });
  await world.until(loop.id, (item) => item.type === "text");
  const page = await world.page();
  await page.goto(`${world.origin}/loops/${loop.id}?tab=timeline`);
  const bar = page.locator("[data-bar=coder][data-tone=live]");
  const before = await bar.getAttribute("aria-label");
  await page.waitForFunction((label) => document.querySelector("[data-bar=coder][data-tone=live]").getAttribute("aria-label") !== label, before);
  world.go("go");
  await bar.waitFor({ state: "detached" });
  await world.stopped(loop.id); // The report of all loops counts it too.
  await page.context().close();
});

test("usage_shows_iterations_the_budget_and_what_is_left", async () => {
  const page = await world.page();
  await page.goto(`${world.origin}/loops/${tried.id}?tab=usage`);
  await page.locator("[data-column]").nth(2).waitFor();
  await page.locator("[data-limit-line]").getByText("Budget $4.00").waitFor();
  await page.locator("[data-forecast]").waitFor();
  await page.locator("[data-forecasts] li").filter({ hasText: "Budget" }).getByText("about 5 more iterations").waitFor();
  await page.getByRole("button", { name: "By model" }).click();
  await page.getByRole("region", { name: "Per iteration" }).getByText("haiku").waitFor();
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

test("page_over_all_loops_has_verified_share_and_cost_per_verified_loop", async () => {
  const page = await world.page();
  await page.getByRole("link", { name: "Usage" }).click();
  const total = page.locator("[data-report-total]");
  const { total: sums } = await world.api("GET", "/api/report");
  assert.equal(sums.verified, 1);
  await total.getByText(`${Math.round(100 / sums.ended)}%`).waitFor();
  // What failed is part of the price of the one that was verified.
  assert.ok(sums.cost_per_verified_usd >= 3);
  await total.getByText(`$${sums.cost_per_verified_usd.toFixed(2)}`).first().waitFor();
  const models = page.locator("[data-report='By model'] tbody tr");
  await models.filter({ hasText: "haiku" }).getByText("$0.50").waitFor();
  await page.getByRole("link", { name: "haiku" }).click();
  await page.getByRole("link", { name: /^tried/ }).waitFor();
  await becomes(() => page.getByRole("link", { name: /^done/ }).count(), 0);
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

test("strip_of_many_iterations_scrolls_by_itself_and_the_page_does_not", async () => {
  const many = await world.loop("Try it often", { agent: "trier", gates: ["test -f never"], max_iterations: 16 }, { name: "many" });
  await world.stopped(many.id);
  const page = await world.page();
  await page.goto(`${world.origin}/loops/${many.id}?tab=overview`);
  await page.locator("[data-strip] [data-cell]").nth(15).waitFor();
  const beyond = (selector) => page.locator(selector).first().evaluate((box) => box.scrollWidth - box.clientWidth);
  assert.ok((await beyond("[data-strip]")) > 0);
  assert.equal(await beyond("main [role=tabpanel]"), 0);
  await page.context().close();
});
