// The way of a new user: from the link to a finished loop, and everything a person does to one.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { REVIEW, World, becomes } from "./world.mjs";

const world = new World();
before(async () => {
  world.agent("hasty", `
    await say("I look at it, turn " + iteration + ".");
    await event({ type: "tool_use", id: "1", name: "Bash", input: "ls" });
    await event({ type: "tool_result", id: "1", output: "README.md" });
    await held("first");
    await usage(1200, 300, 0.25);
    if (prompt.includes("gates failed")) write("fixed", "yes\\n");
    await say("All done."); await say(DONE);
  `);
  world.agent("patient", `await say("I wait."); await held("never");`);
  world.agent("worker", `append("work.txt", "more\\\\n"); await say("I worked."); await say(DONE);`);
  world.agent("judge", `await say("I have read it all."); ${REVIEW({ verdict: "clean" })}`);
  // Builds the feature once, and once more when a person asks for more.
  world.agent("builder", `
    import { execFileSync } from "node:child_process";
    const git = (...words) => execFileSync("git", words, { encoding: "utf8" }).trim();
    const wanted = prompt.includes("Also by author") ? "author" : "title";
    if (existsSync(wanted)) await say("## ALL_FEATURES_COMPLETE\\n\\nAll is done.\\n\\n### Summary\\nAll of it.");
    else {
      await say("I build the box for " + wanted + ".");
      if (wanted === "title") await held("board");
      write(wanted, "yes\\n"); git("add", "-A"); git("commit", "-q", "-m", "feat: " + wanted);
      await say("## Implementation Report — Round " + iteration + "\\n\\n**Feature**: F1: a box\\n**Commit**: " + git("rev-parse", "HEAD") + "\\n**Tests**: 1 passed, 0 failed\\n**Lint**: clean\\n\\n### Changes\\n- " + wanted + ": more");
    }
  `);
  world.agent("acceptor", `await say("ACCEPTED");`);
  await world.serve();
});
after(() => world.end());

test("without the link nothing is shown, and the page says how to get in", async () => {
  const context = await world.browser();
  const page = await context.newPage();
  await page.goto(world.origin);
  await page.getByText("This browser is not logged in").waitFor();
  await context.close();
});

// promise: api-5
test("a loop from the form: previewed, started, watched live, its claim refused, completed", async () => {
  const page = await world.page();
  await becomes(() => page.url().includes("code"), false, "the code leaves the address bar");
  await page.getByRole("main").getByRole("link", { name: "New loop" }).click();
  const start = page.getByRole("button", { name: "Start the loop" });
  await start.and(page.locator(":disabled")).waitFor(); // There is nothing to start yet.
  await page.getByLabel("Goal").fill("Make the check pass");
  await page.getByLabel("Agent", { exact: true }).selectOption("hasty");
  await page.getByLabel("Gates").fill("test -f fixed");
  const preview = page.getByRole("complementary", { name: "What will happen" });
  await preview.getByText("make-the-check-pass", { exact: true }).waitFor();
  await preview.getByText("test -f fixed").first().waitFor();
  await page.getByText("More", { exact: true }).click();
  await page.getByLabel("Time limit").fill("nonsense");
  await page.getByRole("alert").filter({ hasText: "nonsense" }).waitFor();
  await page.getByLabel("Time limit").and(page.locator("[aria-invalid=true]")).waitFor();
  await start.and(page.locator(":disabled")).waitFor(); // What has a fault is not started.
  await page.getByLabel("Time limit").fill("");
  await preview.getByText("make-the-check-pass", { exact: true }).waitFor();
  await page.locator("button[type=submit]:enabled", { hasText: "Start the loop" }).click();
  await page.getByRole("heading", { name: "make-the-check-pass" }).waitFor();
  const log = page.getByRole("log");
  await log.getByText("I look at it, turn 1.").waitFor();
  await page.locator("[data-side=coder][data-active=true]").waitFor();
  await page.locator("[data-phase]").getByText("The coder").waitFor();
  world.go("first");
  await log.getByText("Claim refused.").waitFor();
  await log.getByText("Iteration 2").waitFor();
  await page.getByRole("heading", { name: "make-the-check-pass" }).locator("..").getByText("completed").waitFor();
  await page.getByRole("tab", { name: "Timeline" }).click();
  await page.getByRole("tabpanel").getByText("Claim refused.").waitFor();
  await page.getByRole("tab", { name: "Diff" }).click();
  await page.getByRole("tabpanel").locator("[data-file=fixed]").waitFor();
  await page.getByRole("tab", { name: "Prompts" }).click();
  await page.getByRole("tabpanel").getByText("Make the check pass").waitFor();
  await page.getByRole("tab", { name: "Usage" }).click();
  await page.getByRole("tabpanel").getByText("$0.50").first().waitFor();
  await page.getByRole("tab", { name: "Transcript" }).click();
  await page.getByRole("tabpanel").getByText("All done.").first().waitFor();
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

/** The dialog is gone and has given the focus back, which it does in a task of its own. */
const closed = async (page) => {
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.evaluate(() => new Promise((done) => setTimeout(() => requestAnimationFrame(() => done()))));
};

// promise: api-6
test("stop, message and pause from the list, by mouse and by key", async () => {
  const page = await world.page();
  const loop = await world.loop("Wait for ever", { agent: "patient" });
  await world.until(loop.id, (item) => item.type === "text");
  const row = page.getByRole("listitem").filter({ hasText: "wait-for-ever" });
  await row.getByRole("button", { name: "Message" }).click();
  await page.getByRole("dialog").getByLabel("Message").fill("Look at the README first");
  await page.getByRole("dialog").getByRole("button", { name: "Message" }).click();
  await world.until(loop.id, (item) => item.type === "steering_queued" && item.text === "Look at the README first");
  await closed(page);
  await page.keyboard.press("j");
  // The row takes the focus in the next frame, when the list has scrolled to it.
  await page.waitForFunction((id) => document.activeElement?.id === id, `loop-${loop.id}`);
  await page.keyboard.press("m");
  await page.getByRole("dialog").locator("textarea:focus").waitFor();
  await page.keyboard.press("Escape");
  await closed(page);
  await page.keyboard.press("s");
  await page.getByRole("dialog").locator("button:focus", { hasText: "Stop" }).waitFor();
  await page.keyboard.press("Enter");
  await row.getByText("cancelled").waitFor();
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).getByText("Later match").first().waitFor();
  await page.keyboard.press("Escape");
  await closed(page);
  await page.keyboard.press("g");
  await page.keyboard.press("a");
  const agents = page.getByRole("main").locator("[data-item]");
  await agents.nth(1).waitFor();
  for (const [key, place] of [["j", 0], ["j", 1], ["k", 0]]) {
    await page.keyboard.press(key);
    await page.waitForFunction((at) => [...document.querySelectorAll("main [data-item]")].indexOf(document.activeElement) === at, place);
  }
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

// promise: api-5
test("a reviewed loop asks, and a person approves with a reason", async () => {
  const page = await world.page();
  const loop = await world.loop("Write the work", { agent: "worker", reviewer: "judge", recipe: "audited", human_review: true });
  await page.goto(`${world.origin}/loops/${loop.id}?tab=monitor`);
  await page.locator("[data-side=reviewer]").getByText("I have read it all.").waitFor();
  await page.locator("[data-side=coder]").getByText("I worked.").waitFor();
  await page.locator("[data-phase]").getByText("Your approval is required").waitFor();
  await page.locator("[data-phase-bar]").getByRole("button", { name: "Approve" }).click();
  await page.getByRole("dialog").getByLabel("Reason", { exact: true }).fill("Fine by me");
  await page.getByRole("dialog").getByRole("button", { name: "Approve" }).click();
  await page.getByRole("heading", { name: "write-the-work" }).locator("..").getByText("completed").waitFor();
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

// promise: settings-4
test("settings are saved with the file's own words kept, and the next loop uses them", async () => {
  const page = await world.page();
  await page.goto(`${world.origin}/settings`);
  const card = page.locator("[data-agent=worker]");
  await card.waitFor();
  assert.equal(await card.getByRole("slider").count(), 0, "what depends on the switch is not shown while it is off");
  await card.getByRole("switch").click();
  const slider = card.getByRole("slider");
  await slider.focus();
  await slider.press("End");
  await card.getByText("Max Iterations: 100").waitFor();
  await slider.press("Home");
  for (let step = 0; step < 6; step += 1) await slider.press("ArrowRight");
  await card.getByText("Max Iterations: 7").waitFor();
  await card.getByLabel("Completion Promise").fill("<promise>COMPLETE</promise>");
  await card.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved. The next loop uses it.").first().waitFor();
  await page.getByLabel("Search settings").fill("budget_usd");
  await page.getByLabel("budget_usd", { exact: true }).fill("3.5");
  await page.getByRole("button", { name: "Save" }).click();
  await page.waitForFunction(() => document.querySelectorAll("[aria-live] p").length > 0);
  await page.getByText("Nothing changed").waitFor();
  const file = readFileSync(world.config, "utf8");
  assert.match(file, /# my own words/);
  assert.match(file, /max_iterations = 7/);
  assert.match(file, /budget_usd = 3\.5/);
  const loop = await world.loop("Use what was saved", { agent: "worker" });
  assert.equal(loop.limits.max_iterations, 7);
  assert.equal(loop.limits.budget_usd, 3.5);
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

test("the board: milestones are added and put in order; one is started with chosen agents, sent back with a reason, and approved", async () => {
  await world.api("PUT", "/api/settings/user", { agent: "patient" });
  const page = await world.page();
  await page.goto(`${world.origin}/milestones`);
  for (const [id, title] of [["search", "Search"], ["export", "Export"]]) {
    await page.getByRole("button", { name: "Add a milestone" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Id").fill(id);
    await dialog.getByLabel("Title", { exact: true }).fill(title);
    await dialog.getByLabel("Goal").fill("It works");
    await dialog.getByLabel("Features").fill("F1: a box (acceptance: it has the focus)");
    await dialog.getByLabel("Acceptance criteria").fill("tests pass");
    await dialog.getByRole("switch", { name: "Require my approval before the loop completes" }).click();
    await dialog.getByRole("button", { name: "Add a milestone" }).click();
    await dialog.waitFor({ state: "detached" });
  }
  const column = (name) => page.getByRole("region", { name });
  await column("Open").getByRole("heading", { name: "Export" }).waitFor();
  const titles = () => column("Open").getByRole("heading", { level: 3 }).allTextContents();
  const order = await titles();
  await column("Open").getByRole("button", { name: "Later" }).first().click();
  await becomes(titles, [...order].reverse());

  const card = (name) => column(name).getByRole("listitem").filter({ has: page.getByRole("heading", { name: "Search" }) });
  await card("Open").getByRole("button", { name: "Start" }).click();
  const starting = page.getByRole("dialog", { name: "Start Search" });
  await starting.getByRole("option", { name: "Default: patient" }).waitFor({ state: "attached" });
  await starting.getByLabel("Developer").selectOption("builder");
  await starting.getByLabel("Acceptor").selectOption("acceptor");
  await starting.getByRole("button", { name: "Start" }).click();
  await starting.waitFor({ state: "detached" });
  await card("Running").getByText("running").waitFor();
  world.go("board");
  await card("Needs you").getByRole("button", { name: "Reject" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Reject" }).and(page.locator(":disabled")).waitFor();
  await dialog.getByLabel("Reason", { exact: true }).fill("Also by author");
  await dialog.getByRole("button", { name: "Reject" }).click();
  await dialog.waitFor({ state: "detached" });
  const [milestone] = (await world.api("GET", `/api/milestones?project=${encodeURIComponent(world.repo)}`)).milestones.filter((each) => each.id === "search");
  await world.until(milestone.loop.id, (item) => item.type === "person_ruled" && !item.approved && item.reason === "Also by author");
  await world.until(milestone.loop.id, (item) => item.type === "text" && item.text.includes("I build the box for author."));
  // It asks again once that is built; the page hears of it by itself.
  await card("Needs you").getByRole("button", { name: "Approve" }).click();
  await dialog.getByLabel("Reason", { exact: true }).fill("Both are there");
  await dialog.getByRole("button", { name: "Approve" }).click();
  await card("Done").getByText("completed").waitFor();
  await card("Done").getByRole("img", { name: "done" }).first().waitFor();
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});
