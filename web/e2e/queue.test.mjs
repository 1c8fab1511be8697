// Goals in their order with the reason they wait, and finished work on its way to the target.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { World, becomes, violations } from "./world.mjs";

const world = new World();
before(async () => {
  world.top("queue_per_project = 1\n");
  world.agent("patient", `await say("I wait."); await held("never");`);
  world.agent("worker", `write("work-" + Date.now() + ".txt", "work\\n"); await usage(100, 10, 0.1, "opus"); await say(DONE);`);
  await world.serve();
});
after(() => world.end());

const at = () => `/queue?project=${encodeURIComponent(world.repo)}`;
const order = async () => (await world.api("GET", "/api/queue")).goals.map((goal) => goal.goal).join();
const goal = (page, text) => page.locator("[data-goal]").filter({ hasText: text });

test("goals_are_added_moved_and_removed_and_say_why_they_wait", async () => {
  await world.api("POST", "/api/queue", { goals: [{ run: { project: world.repo, goal: "hold the place", settings: { agent: "patient" } } }] });
  const page = await world.page();
  await page.goto(world.origin + at());
  await goal(page, "hold the place").getByText("Running").waitFor();
  await page.getByRole("button", { name: "Add goals" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.locator("textarea[name=goals]").fill("one\n\ntwo\nthree");
  await dialog.locator("select[name=agent]").selectOption("worker");
  await dialog.getByRole("button", { name: "Add goals" }).click();
  await page.getByText("3 goals added").waitFor();
  await goal(page, "one").locator("[data-why]").getByText("The project runs 1 of 1 loops.").waitFor();
  await goal(page, "three").dragTo(goal(page, "one"));
  await becomes(order, "hold the place,three,one,two");
  await goal(page, "one").getByRole("button", { name: /down$/ }).click();
  await becomes(order, "hold the place,three,two,one");
  await goal(page, "two").getByRole("button", { name: /^Remove/ }).click();
  await becomes(order, "hold the place,three,one");
  await becomes(async () => (await page.locator("[data-goal]").allTextContents()).length, 3);
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

test("merge_queue_takes_a_verified_loop_and_shows_it_merged", async () => {
  const done = await world.loop("Do the work", { agent: "worker", gates: ["true"] }, { name: "done" });
  await world.stopped(done.id);
  const page = await world.page();
  await page.goto(world.origin + at());
  await page.getByLabel("Verified loop…").selectOption(done.id);
  await page.getByRole("button", { name: "Queue", exact: true }).click();
  await page.locator("[data-entry=done][data-status=merged]").getByText("Merged").waitFor();
  await becomes(async () => (await world.api("GET", `/api/loops/${done.id}`)).merged?.target, "main");
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

test("queue_page_fits_every_width_and_axe_finds_nothing", async () => {
  for (const [width, colorScheme] of [[390, "light"], [768, "dark"], [1280, "light"], [1280, "dark"]]) {
    const page = await world.page({ viewport: { width, height: 844 }, colorScheme, reducedMotion: "reduce" });
    await page.goto(world.origin + at());
    await page.locator("[data-merges]").waitFor();
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(over <= 0, `${over} px too wide at ${width}`);
    assert.deepEqual((await violations(page)).map((text) => `${width} ${colorScheme}: ${text}`), []);
    if (process.env.WINDLASS_SHOTS) await page.screenshot({ path: `${process.env.WINDLASS_SHOTS}/queue-${width}-${colorScheme}.png`, fullPage: true });
    await page.context().close();
  }
});
