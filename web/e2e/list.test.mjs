// The list: what needs a person is in front, with its reason; what is done says what it reached; the view is in the address.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { World, searches } from "./world.mjs";

const world = new World();
let other;
before(async () => {
  world.agent("worker", `append("work.txt", "more\\\\n"); await usage(1000, 200, 0.5, "opus"); await say(DONE);`);
  world.agent("idle", `await usage(100, 20, 0.1, "haiku"); await say(DONE);`);
  world.agent("spender", `await usage(1000, 200, 0.25, "opus"); await say("first"); await held("spend"); await usage(1000, 200, 0.75, "opus"); await say("second"); await held("never");`);
  other = world.repository("notes", { "README.md": "notes\n" });
  await world.serve();
  const at = async (project, name, settings) => { const loop = await world.api("POST", "/api/loops", { project, goal: `The goal of ${name}`, name, settings }); await world.stopped(loop.id); return loop; };
  await at(world.repo, "proven", { agent: "worker", gates: ["test -f work.txt"] });
  await at(world.repo, "same", { agent: "idle", gates: ["true"] });
  await at(other, "claimed", { agent: "worker" });
  await at(other, "spent", { agent: "idle", gates: ["test -f never"], max_iterations: 2 });
});
after(() => world.end());

const row = (page, name) => page.getByRole("listitem").filter({ has: page.getByRole("link", { name: new RegExp(`^${name}`) }) });
/** Group heads and names, from top to bottom, once they are these. */
const reads = (page, wanted) => page.waitForFunction((texts) => {
  const items = [...document.querySelectorAll("[role=list] [role=listitem]")].sort((one, other) => Number(one.dataset.index) - Number(other.dataset.index));
  return JSON.stringify(items.map((item) => (item.querySelector("h2") ?? item.querySelector("a span")).textContent.trim())) === JSON.stringify(texts);
}, wanted);

test("list_with_failed_loop_shows_it_first_with_reason_and_action", async () => {
  const page = await world.page();
  await reads(page, ["Needs you 1", "spent", "Finished 3", "claimed", "same", "proven"]);
  await row(page, "spent").getByText("Limit reached: all iterations used").waitFor();
  await row(page, "spent").getByRole("button", { name: "Resume" }).waitFor();
  await page.waitForFunction(() => document.title === "(1) Loops · Windlass");
  await row(page, "proven").getByText("(opus)").waitFor();
  for (const text of ["Started today4", "Verified1", "Failed1", "Claims refused2", "Cost$1.30"]) await page.waitForFunction((wanted) => document.querySelector("[data-totals]").textContent.includes(wanted), text);
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

test("completed_loops_differ_in_shape_and_words", async () => {
  const page = await world.page();
  for (const [name, standing, words] of [["proven", "verified", "Verified"], ["same", "unchanged", "Unchanged"], ["claimed", "claimed", "Claimed, not verified"]]) {
    await row(page, name).locator(`[data-standing=${standing}]`).waitFor();
    await row(page, name).getByText(words, { exact: true }).waitFor();
  }
  const shapes = await page.locator("[data-standing]").evaluateAll((all) => all.map((one) => [...one.children].map((part) => new window.XMLSerializer().serializeToString(part)).join("")));
  assert.equal(new Set(shapes).size, shapes.length, "no two look alike");
  await page.context().close();
});

test("merged_loop_says_where_it_went", async () => {
  const page = await world.page();
  const [proven] = (await world.api("GET", "/api/loops")).loops.filter((loop) => loop.name === "proven");
  await world.api("POST", `/api/loops/${proven.id}/merge`, {});
  await row(page, "proven").getByText("Merged into main").waitFor();
  await page.getByLabel("Status").selectOption("merged");
  await reads(page, ["Finished 1", "proven"]);
  await page.context().close();
});

test("view_is_in_the_address_and_survives_reload", async () => {
  const page = await world.page();
  await page.getByLabel("Group by").selectOption("project");
  await page.getByLabel("Sort by").selectOption("name");
  const wanted = ["notes 2 1 needs you", "claimed", "spent", "shop 2", "proven", "same"];
  await reads(page, wanted);
  await searches(page, "?group=project&sort=name");
  await page.reload();
  await reads(page, wanted);
  await page.getByLabel("Status").selectOption("verified");
  await reads(page, ["shop 1", "proven"]);
  await page.context().close();
});

test("filters_are_in_the_address_and_totals_lead_to_their_loops", async () => {
  const page = await world.page();
  await page.getByRole("button", { name: "Filters" }).click();
  await page.getByLabel("Model").selectOption("haiku");
  await reads(page, ["Needs you 1", "spent", "Finished 1", "same"]);
  await page.getByLabel("Agent", { exact: true }).selectOption("idle");
  await searches(page, "?model=haiku&agent=idle");
  await page.reload();
  await reads(page, ["Needs you 1", "spent", "Finished 1", "same"]);
  await page.getByRole("button", { name: "Clear filters" }).click();
  await page.waitForURL((url) => url.search === "");
  await page.locator("[data-totals]").getByRole("link", { name: "1" }).last().click();
  await reads(page, ["Needs you 1", "spent"]);
  await searches(page, "?since=today&status=failed");
  // How many need somebody, run, and have finished is one look, and one click away.
  const state = (name) => page.locator("[data-totals] > div").filter({ has: page.getByText(name, { exact: true }) });
  assert.match(await state("Needs you").innerText(), /Needs you\s+1$/);
  assert.match(await state("Running").innerText(), /Running\s+0$/);
  await state("Needs you").getByRole("link").click();
  await searches(page, "?status=person");
  await reads(page, ["Needs you 1", "spent"]);
  await page.context().close();
});

// promise: api-8
test("cost_tokens_and_time_move_while_a_turn_runs", async () => {
  const loop = await world.loop("Spend it", { agent: "spender", budget_usd: 4, max_tokens: 100000, duration: "1h" }, { name: "spends" });
  await world.until(loop.id, (item) => item.type === "usage_reported");
  const page = await world.page();
  const spent = row(page, "spends").locator("[data-spent]");
  await spent.getByText("$0.25 / $4.00").waitFor();
  await spent.getByText(/1\.2k \/ 100k tokens/).waitFor();
  const before = await spent.textContent();
  await page.waitForFunction((text) => document.querySelector("[data-spent]").textContent !== text, before);
  const tab = await page.context().newPage();
  await tab.goto(`${world.origin}/loops/${loop.id}?tab=usage`);
  await tab.getByText("$0.25 / $4.00").first().waitFor();
  const words = row(page, "spends").locator("[data-last-words]");
  await words.getByText("first", { exact: false }).waitFor();
  world.go("spend");
  await words.getByText("second", { exact: false }).waitFor();
  await tab.getByText("$1.00 / $4.00").first().waitFor();
  await tab.getByRole("meter", { name: "Budget" }).first().waitFor();
  await spent.getByText("$1.00 / $4.00").waitFor();
  await world.api("POST", `/api/loops/${loop.id}/stop`);
  await world.stopped(loop.id);
  await page.context().close();
});

test("many_loops_are_stopped_and_cleaned_at_once", async () => {
  const held = [];
  for (const name of ["one", "two"]) held.push(await world.loop(`Wait ${name}`, { agent: "spender" }, { name }));
  for (const loop of held) await world.until(loop.id, (item) => item.type === "text");
  const page = await world.page();
  await page.getByLabel("Select one").check();
  await page.getByLabel("Select two").check();
  await page.getByLabel("Select claimed").check();
  const bar = page.locator("[data-bulk]");
  await bar.getByText("3 selected").waitFor();
  await bar.getByRole("button", { name: "Stop 2" }).click();
  await page.getByRole("dialog").getByText("1 selected loop stays as it is").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Stop" }).click();
  await row(page, "one").locator("[data-standing=cancelled]").waitFor();
  await row(page, "two").locator("[data-standing=cancelled]").waitFor();
  await bar.waitFor({ state: "detached" });
  // The keyboard does the same: go to a row, mark it.
  await page.locator("#main").focus();
  await page.keyboard.press("X");
  await bar.getByText("7 selected").waitFor();
  await page.keyboard.press("Escape");
  await bar.waitFor({ state: "detached" });
  await page.getByLabel("Select one").check();
  await page.getByLabel("Select two").check();
  await bar.getByRole("button", { name: "Clean 2" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Clean" }).click();
  await page.getByText("Removed 2 workspaces").waitFor();
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});
