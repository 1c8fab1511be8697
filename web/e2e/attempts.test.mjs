// Many attempts: best of N compared while it runs, forks, loops side by side, and whether it pays.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { World, becomes, violations } from "./world.mjs";

const world = new World();
const GATE = "test -f work.txt";

before(async () => {
  world.agent("right", `await usage(1000, 200, 0.5, "opus"); await say("I work."); if (prompt.includes("slowly")) await held("finish"); write("work.txt", "right\\n"); await say(DONE);`);
  world.agent("longer", `await usage(1000, 200, 0.25, "haiku"); write("work.txt", "one\\ntwo\\nthree\\n"); await say(DONE);`);
  world.agent("liar", `await usage(500, 100, 0.1, "haiku"); await say(DONE);`);
  world.agent("slow", `await usage(500, 100, 0.1, "opus"); await say("Thinking."); await held("never");`);
  await world.serve();
});
after(() => world.end());

const tries = (goal, agents, more = {}, settings = {}) => world.api("POST", "/api/groups/tries", { run: { project: world.repo, goal, name: more.name, settings: { gates: [GATE], max_iterations: 2, ...settings } }, agents, first: more.first ?? false, losers: more.losers ?? "keep" });
const ended = (group) => becomes(async () => Boolean((await world.api("GET", `/api/groups/${group.id}`)).stopped_at), true);
const line = (page, number) => page.locator(`[data-try="${number}"]`);

// promise: tries-8
test("group_page_follows_its_tries_until_the_best_is_picked", async () => {
  const group = await tries("Do it slowly", ["right", "slow", "liar"], { name: "live", first: true });
  const page = await world.page();
  await page.goto(`${world.origin}/groups/live`);
  await page.getByRole("heading", { name: "live" }).waitFor();
  await page.getByText("best of 3").waitFor();
  await line(page, 1).getByText("Running").waitFor();
  await line(page, 1).getByText("$0.50").waitFor();
  await line(page, 3).getByText("Limit reached").waitFor();
  await becomes(() => page.locator("[data-rules] li").count(), 7);
  await page.locator("[data-rules] li").first().getByText("verified").waitFor();
  world.go("finish");
  // Nothing is loaded again: the page hears of it.
  await page.locator("[data-verdict]").getByText("Picked live-1: verified.").waitFor();
  await page.locator("[data-verdict]").getByText("Windlass stopped the others because live-1 is verified.").waitFor();
  await line(page, 1).locator("[data-standing=verified]").waitFor();
  await line(page, 2).getByText("Cancelled").waitFor();
  await page.locator("[data-group=completed]").waitFor();
  await page.locator("[data-rules] [aria-current]").getByText("verified").waitFor();
  await becomes(() => line(page, 1).getAttribute("data-won"), "true");
  await becomes(() => page.getByRole("button", { name: "Stop" }).count(), 0, "there is nothing left to stop");
  await page.getByRole("button", { name: "Merge live-1" }).waitFor();
  // A try leads to its loop, and the loop back to the group.
  await line(page, 1).getByRole("link", { name: "live-1" }).click();
  await page.locator("[data-group-of]").getByText("Try 1 of live").click();
  await page.waitForURL((url) => url.pathname === `/groups/${group.id}`);
  await page.getByRole("heading", { name: "live" }).waitFor();
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

test("new_loop_starts_best_of_n_and_the_page_stops_it", async () => {
  const page = await world.page();
  await page.goto(`${world.origin}/new?project=${encodeURIComponent(world.repo)}`);
  await page.getByLabel("Goal").fill("Try it from the page");
  await page.getByLabel("Agent", { exact: true }).selectOption("slow");
  await page.getByLabel("Tries (best of N)").fill("3");
  await page.getByLabel("Agent of try 2").selectOption("liar");
  // A model that its agent cannot take is refused with the reason, and nothing starts.
  await page.getByLabel("Model of try 3").fill("big");
  await page.getByRole("switch", { name: "Stop the others when one is verified" }).click();
  await page.getByText("More", { exact: true }).click();
  await page.getByText("For all tries together.").waitFor();
  assert.equal(await page.getByText("Work in the checkout itself").count(), 0, "tries never work in the checkout");
  await page.locator("input[name=name]").fill("formed");
  await page.getByRole("complementary").getByText("formed").first().waitFor();
  await page.getByRole("button", { name: "Start 3 tries" }).click();
  await page.getByRole("alert").filter({ hasText: "does not accept a model" }).waitFor();
  await page.getByLabel("Model of try 3").fill("");
  await page.getByRole("button", { name: "Start 3 tries" }).click();
  await page.waitForURL((url) => url.pathname.startsWith("/groups/"));
  await page.getByText("best of 3").waitFor();
  const [group] = (await world.api("GET", "/api/groups")).groups.filter((each) => each.name === "formed");
  assert.deepEqual(group.tries.toSorted((one, other) => one.number - other.number).map((each) => each.agent), ["slow", "liar", "slow"]);
  assert.deepEqual([group.first, group.losers], [true, "keep"]);
  await line(page, 1).getByText("Running").waitFor();
  await page.locator("#main").focus();
  await page.keyboard.press("s");
  await page.getByRole("dialog").getByRole("button", { name: "Stop" }).click();
  await page.locator("[data-group=cancelled], [data-group=completed]").waitFor();
  await page.locator("[data-verdict]").getByText("Stopped by a user.").waitFor();
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

test("tries_outside_their_range_are_refused_at_their_field", async () => {
  const page = await world.page({ locale: "zh-TW" });
  await page.goto(`${world.origin}/new?project=${encodeURIComponent(world.repo)}`);
  await page.locator("input[name=tries]").fill("99");
  await becomes(() => page.locator("input[name=tries]").inputValue(), "16", "more are not offered");
  const response = await fetch(`${world.origin}/api/groups/tries`, { method: "POST", headers: { Authorization: `Bearer ${world.token}`, "Content-Type": "application/json" }, body: JSON.stringify({ run: { project: world.repo, goal: "g" }, tries: 99 }) });
  const { error } = await response.json();
  assert.deepEqual([response.status, error.field, error.message_code], [400, "tries", { id: "tries_range", params: { count: "99", most: "16" } }]);
  await page.context().close();
});

// promise: tries-9
test("loops_of_a_group_are_compared_from_the_list_with_their_difference", async () => {
  const group = await tries("Do it", ["right", "longer"], { name: "pair" });
  await ended(group);
  const page = await world.page();
  await page.goto(`${world.origin}/?group=tries`);
  await page.getByRole("heading", { level: 2 }).filter({ hasText: "pair" }).getByRole("link", { name: "pair" }).waitFor();
  await page.getByRole("link", { name: "Try 2 of pair" }).waitFor();
  await page.getByLabel("Select pair-1").check();
  await page.locator("[data-bulk]").getByRole("button", { name: "Compare" }).and(page.locator(":disabled")).waitFor(); // One is compared with nothing.
  await page.getByLabel("Select pair-2").check();
  await page.locator("[data-bulk]").getByRole("link", { name: "Compare 2" }).click();
  await page.waitForURL((url) => url.pathname === "/compare");
  const fact = (name) => page.locator(`[data-fact=${name}] td`);
  await fact("outcome").first().getByText("Verified").waitFor();
  await becomes(() => fact("gates").allTextContents(), ["1 of 1 gates pass", "1 of 1 gates pass"]);
  await becomes(async () => (await fact("cost").allTextContents()).toSorted(), ["$0.25", "$0.50"]);
  await becomes(async () => (await fact("changes").allTextContents()).join(), /\+1 −0.*\+3 −0|\+3 −0.*\+1 −0/);
  // How the work of one differs from that of the other.
  await page.locator("[data-file='work.txt']").waitFor();
  await page.locator("[data-diff]").getByText("three").waitFor();
  assert.equal(await page.locator("[data-comment-on]").count(), 0, "nobody gets a comment on a comparison");
  const from = await page.getByLabel("From").inputValue();
  await page.getByLabel("To", { exact: true }).selectOption(from);
  await page.getByText("Choose two different loops.").waitFor();
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

test("fork_from_an_iteration_shows_its_parent_and_compares_with_it", async () => {
  const parent = await world.loop("Do what is asked", { agent: "longer", gates: [GATE] }, { name: "parent" });
  await world.stopped(parent.id);
  const page = await world.page();
  await page.goto(`${world.origin}/loops/${parent.id}?tab=overview`);
  await page.locator("[data-strip] button").first().click();
  await page.getByRole("button", { name: "Fork from here" }).click();
  const dialog = page.getByRole("dialog");
  await becomes(() => dialog.locator("select[name=at]").inputValue(), "1");
  await dialog.locator("select[name=agent]").selectOption("right");
  await dialog.locator("input[name=name]").fill("second");
  await dialog.getByRole("button", { name: "Fork" }).click();
  await page.getByRole("heading", { name: "second" }).waitFor();
  await page.locator("[data-parent]").getByText("Fork of parent at iteration 1").waitFor();
  const [fork] = (await world.api("GET", "/api/loops")).loops.filter((loop) => loop.name === "second");
  assert.deepEqual([fork.agent, fork.parent.id], ["right", parent.id]);
  await world.stopped(fork.id);
  await page.getByRole("link", { name: "Compare" }).click();
  await page.locator("[data-fact=parent]").getByText("Fork of parent at iteration 1").waitFor();
  await page.locator("[data-file='work.txt']").waitFor();
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

test("outcomes_have_counts_beside_every_share", async () => {
  const page = await world.page();
  await page.goto(`${world.origin}/usage`);
  const { by_agent: rows } = await world.api("GET", "/api/report/outcomes");
  const right = rows.find((row) => row.name === "right");
  assert.ok(right.ended >= 3 && right.verified === right.ended, JSON.stringify(right));
  const shown = page.locator("[data-outcomes='By agent'] tbody tr").filter({ hasText: "right" });
  await shown.getByText(`100% ${right.verified} of ${right.ended}`).first().waitFor();
  await page.locator("[data-outcomes='By recipe'] tbody tr").filter({ hasText: "promise" }).waitFor();
  await page.locator("[data-outcomes='By model'] tbody tr").filter({ hasText: "haiku" }).waitFor();
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

test("new_pages_fit_every_width_and_axe_finds_nothing", async () => {
  const groups = (await world.api("GET", "/api/groups")).groups;
  const pair = groups.find((group) => group.name === "pair");
  const paths = [`/groups/${pair.id}`, "/groups/nothing-of-that-name", `/compare?loops=${pair.tries.map((each) => each.id).join(",")}`, "/compare", "/usage", "/?group=tries", ...(process.env.WINDLASS_SHOTS ? ["/new"] : [])];
  for (const [width, colorScheme] of [[390, "light"], [390, "dark"], [768, "light"], [1280, "dark"], [1280, "light"]]) {
    const page = await world.page({ viewport: { width, height: 844 }, colorScheme, reducedMotion: "reduce" });
    for (const path of paths) {
      await page.goto(world.origin + path);
      await page.waitForFunction(() => document.querySelector("main")?.textContent?.trim() && !document.querySelector("main [role=status]"));
      const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(over <= 0, `${path} is ${over} px too wide at ${width}`);
      assert.deepEqual((await violations(page)).map((text) => `${path} at ${width} ${colorScheme}: ${text}`), []);
      if (process.env.WINDLASS_SHOTS) await page.screenshot({ path: `${process.env.WINDLASS_SHOTS}/${path.replaceAll(/[^a-z]+/g, "-").slice(0, 24)}-${width}-${colorScheme}.png`, fullPage: true });
    }
    assert.deepEqual(page.complaints, []);
    await page.context().close();
  }
});
