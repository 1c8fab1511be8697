// Around the loops: the command palette, the count in the title, notifications, prompts side by side.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { World, becomes, violations } from "./world.mjs";

const world = new World();
let tried;
before(async () => {
  world.agent("trier", `append("try.txt", "try " + iteration + "\\n"); await say(DONE);`);
  world.agent("meddler", `write("README.md", "not mine\\n"); append("try.txt", "x\\n"); await say(DONE);`);
  await world.serve();
  tried = await world.loop("Try it twice", { agent: "trier", gates: ["cat try.txt; test -f never"], max_iterations: 2 }, { name: "tried" });
  await world.stopped(tried.id);
});
after(() => world.end());

test("palette_finds_pages_loops_and_actions_by_keyboard", async () => {
  const page = await world.page();
  await page.locator("[data-connection=open]").waitFor();
  await page.keyboard.press("Control+k");
  const box = page.getByRole("combobox", { name: "Search and commands" });
  await box.fill("tried");
  await page.getByRole("option", { name: /tried/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "tried" }).waitFor();
  await page.keyboard.press("Control+k");
  await box.fill("roll");
  await page.getByRole("option", { name: /Roll back/, selected: true }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByText("Choose the iteration to return to.").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.keyboard.press("Control+k");
  await box.fill("agen");
  await page.getByRole("option", { name: /Agents/, selected: true }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.pathname === "/agents");
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

test("title_counts_what_needs_a_person_and_the_browser_notifies", async () => {
  const page = await world.page({ permissions: ["notifications"] });
  await page.addInitScript(() => {
    window.notes = [];
    window.Notification = class {
      static permission = "granted";
      static requestPermission = () => Promise.resolve("granted");
      constructor(title, options) { window.notes.push(`${title}: ${options.body}`); }
      close() {}
    };
    document.hasFocus = () => false;
  });
  await page.goto(`${world.origin}/agents`);
  await page.waitForFunction(() => document.title === "(1) Agents · Windlass");
  await page.getByRole("button", { name: "Theme and language" }).click();
  await page.getByRole("menuitemcheckbox", { name: "Notify me when a loop needs me" }).click();
  await page.getByText("Notifications are on").waitFor();
  const second = await world.loop("Try it again", { agent: "trier", gates: ["test -f never"], max_iterations: 1 }, { name: "again" });
  await world.stopped(second.id);
  await page.waitForFunction(() => document.title.startsWith("(2)"), null, { timeout: 60_000 });
  await becomes(() => page.evaluate(() => window.notes), ["again · shop: Limit reached: all iterations used"]);
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

test("prompt_is_compared_with_the_one_before", async () => {
  const page = await world.page();
  await page.goto(`${world.origin}/loops/${tried.id}?tab=prompts`);
  await page.getByRole("button", { name: "Compare with the previous prompt" }).click();
  const changed = page.locator("[data-prompt-diff]");
  await changed.getByText("What changed since the prompt of turn 1.coder.1").waitFor();
  await changed.locator(".bg-del").first().waitFor();
  await changed.locator(".bg-add").filter({ hasText: "try 1" }).first().waitFor();
  // Each side under its turn, and each part of it under its name.
  await changed.getByText("2.coder.1", { exact: true }).waitFor();
  await changed.locator("[data-part=goal]").getByText("Goal", { exact: true }).first().waitFor();
  await changed.locator("[data-part=gates]").getByText("Gate results", { exact: true }).first().waitFor();
  assert.deepEqual(await violations(page), []);
  // On a phone both texts are below each other, and what they share is shown once.
  await page.setViewportSize({ width: 390, height: 844 });
  await becomes(() => changed.locator("[data-part=goal]").filter({ hasText: "Try it twice", visible: true }).count(), 1);
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

test("monitor_shows_every_event_that_the_command_line_prints", async () => {
  const flaky = "test -f ../seen-by-gate || { touch ../seen-by-gate; exit 1; }";
  const loop = await world.loop("Leave the read-me alone", { agent: "meddler", gates: [flaky], protect: ["README.md"], setup: ["true"] }, { name: "meddled" });
  await world.stopped(loop.id);
  const page = await world.page({ viewport: { width: 1280, height: 1400 } });
  await page.goto(`${world.origin}/loops/${loop.id}?tab=monitor`);
  const log = page.getByRole("log");
  for (const words of ["Setting up the workspace…", "Running the gates on the base commit…", "Retrying to detect flakiness", "Running the gates…", "Restored protected files: README.md"]) await log.getByText(words, { exact: true }).first().waitFor();
  // The overview tells the same of an iteration.
  await page.goto(`${world.origin}/loops/${loop.id}?tab=overview&iteration=1`);
  await page.locator("[data-opened] [data-notes=checkpointed]").getByText("README.md").waitFor();
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

test("new_loop_offers_found_gates_and_an_earlier_loop_as_template", async () => {
  const project = world.repository("crate", { "Cargo.toml": "[package]\nname = \"x\"\nversion = \"0.1.0\"\n", "src/lib.rs": "" });
  const earlier = await world.api("POST", "/api/loops", { project, goal: "Fix the parser", name: "parser", settings: { agent: "trier", gates: ["true"], budget_usd: 2 } });
  await world.stopped(earlier.id);
  const page = await world.page();
  await page.goto(`${world.origin}/new`);
  await page.locator("select[name=project]").selectOption(project);
  await page.locator("[data-found]").getByRole("button", { name: "cargo test" }).first().click();
  await becomes(() => page.locator("textarea[name=gates]").inputValue(), /^cargo test/);
  await page.getByLabel("Start from an earlier loop").selectOption(earlier.id);
  await becomes(() => page.locator("textarea[name=goal]").inputValue(), "Fix the parser");
  await becomes(() => page.locator("textarea[name=gates]").inputValue(), "true");
  await page.getByText("More", { exact: true }).click();
  await becomes(() => page.locator("input[name=budget]").inputValue(), "2");
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

test("refusal_is_told_in_the_language_of_the_page", async () => {
  const page = await world.page({ locale: "zh-TW" });
  await page.goto(`${world.origin}/new`);
  await page.locator("textarea[name=goal]").fill("x");
  await page.locator("details summary").click();
  await page.locator("input[name=duration]").fill("nonsense");
  await page.getByRole("alert").filter({ hasText: "不是時間長度" }).first().waitFor();
  await page.context().close();
});
