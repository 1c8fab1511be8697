// A person judges: why a claim was refused, whether the work may pass, what a merge or a rollback would do.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { REVIEW, World, becomes, searches, violations } from "./world.mjs";

const world = new World();
before(async () => {
  world.agent("stubborn", `append("try.txt", "try " + iteration + "\\n"); await usage(100, 20, 0.1, "haiku"); await say("I am sure."); await say(DONE);`);
  world.agent("worker", `append("work.txt", "more\\n"); await usage(1000, 200, 0.5, "opus"); await say("I worked."); await say(DONE);`);
  world.agent("resolver", `write("work.txt", "resolved " + iteration + "\\n"); await say(DONE);`);
  world.agent("judge", `await say("I have read it all, and it is good."); ${REVIEW({ verdict: "clean" })}`);
  world.agent("changer", `write("README.md", "a market\\n"); write("src/one.txt", "one\\n"); write("src/long.txt", "a line\\n".repeat(1200)); await say(DONE);`);
  world.agent("writer", `append("work.txt", "more\\n"); await say("# Done\\n\\n- first\\n- **bold**\\n\\n<img src=x onerror=alert(1)> [link](javascript:alert(1)) ![picture](https://example.com/x.png)\\n"); await say(DONE);`);
  world.agent("crafter", `if (iteration > 1) { write("src/app.rs", "// the app\\nfn main() {\\n    let answer = 43;\\n}\\n"); await held("crafted"); await say(DONE); } else { write("src/app.rs", "// the app\\nfn main() {\\n    let answer = 42;\\n}\\n"); write("Cargo.lock", "# @generated\\n"); write("README.md", "not mine\\n"); await say(DONE); }`);
  world.agent("picky", `await say("Not yet."); ${REVIEW({ verdict: "dirty", findings: [{ severity: "bug", file: "src/app.rs", line: 3, description: "The answer is wrong." }] })}`);
  world.agent("patient", `await say("I wait."); await held("never");`);
  await world.serve();
});
after(() => world.end());

const GATE = `for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do echo "checked case $n"; done; echo "case 15 is wrong"; exit 3`;

test("refused_claim_shows_gate_output_exit_code_and_strip", async () => {
  const loop = await world.loop("Pass the gate", { agent: "stubborn", gates: [GATE], max_iterations: 2 }, { name: "refused" });
  await world.stopped(loop.id);
  const page = await world.page();
  await page.goto(`${world.origin}/loops/${loop.id}`);
  const card = page.locator("[data-refusal]");
  await card.getByText("Claim of iteration 2 refused").waitFor();
  await card.getByText("exit code 3").waitFor();
  await card.locator("pre").filter({ hasText: "case 15 is wrong" }).waitFor();
  assert.doesNotMatch(await card.locator("pre").textContent(), /checked case 1\s/, "only the end at first");
  await card.getByRole("button", { name: "Show the whole log" }).click();
  await card.locator("pre").filter({ hasText: /checked case 1\s/ }).waitFor();
  await page.waitForFunction(() => document.title.endsWith("refused · Limit reached · shop · Windlass"));
  const cells = page.locator("[data-strip] [data-cell=refused]");
  await cells.nth(1).waitFor();
  await cells.first().locator("[data-lines]").getByText("+1").waitFor();
  await cells.first().click();
  await page.locator("[data-opened]").getByText("Claim refused.").waitFor();
  await searches(page, /iteration=1/);
  await page.locator("[data-next]").getByText("Resume with a higher limit").waitFor();
  // The way back leads to the project's loops.
  await page.getByRole("navigation", { name: "Back to" }).getByRole("link", { name: "shop" }).click();
  await page.waitForURL((url) => url.pathname === "/" && url.searchParams.has("project"));
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

// promise: api-12
test("whole_log_of_a_long_gate_is_one_click_away", async () => {
  const loop = await world.loop("Pass the long gate", { agent: "stubborn", gates: ["true", "seq 1 4000 | sed 's/^/checked line /'; exit 3"], max_iterations: 1 }, { name: "long" });
  await world.stopped(loop.id);
  const page = await world.page();
  await page.goto(`${world.origin}/loops/${loop.id}`);
  const card = page.locator("[data-refusal]");
  await card.locator("pre").filter({ hasText: "checked line 4000" }).waitFor();
  await card.getByRole("button", { name: "Show the whole log" }).click();
  await card.locator("pre").filter({ hasText: /^checked line 1\s/ }).waitFor();
  await card.locator("pre").filter({ hasText: /checked line 4000$/ }).waitFor();
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

test("diff_shows_tree_word_marks_and_both_views_with_few_rows_in_the_page", async () => {
  const loop = await world.loop("Change the files", { agent: "changer", gates: ["true"] }, { name: "changed" });
  await world.stopped(loop.id);
  const page = await world.page();
  await page.goto(`${world.origin}/loops/${loop.id}?tab=diff`);
  const lines = page.locator("[data-diff=unified]");
  await lines.locator("mark", { hasText: "market" }).waitFor();
  await page.locator("[data-diff-total]").getByText("3 files").waitFor();
  const tree = page.locator("[data-tree]");
  await tree.getByRole("button", { name: /long\.txt/ }).click();
  await page.locator("[data-file='src/long.txt']").waitFor();
  assert.ok((await page.locator("[data-diff] [data-index]").count()) < 300, "only what is seen is in the page");
  await page.getByRole("button", { name: "Split" }).click();
  await page.locator("[data-diff=split]").waitFor();
  await page.getByRole("button", { name: "Fold all" }).click();
  await page.waitForFunction(() => document.querySelectorAll("[data-diff] [data-index]").length === 3);
  await page.locator("[data-file='README.md']").click();
  await page.locator("[data-diff=split] mark", { hasText: "market" }).waitFor();
  await page.reload();
  await page.locator("[data-diff=split]").waitFor();
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

// promise: api-9
test("diff_has_colours_findings_and_comments_that_become_a_message", async () => {
  const loop = await world.loop("Write the app", { agent: "crafter", reviewer: "picky", recipe: "audited", gates: ["true"], protect: ["README.md"] }, { name: "crafted" });
  await world.until(loop.id, (item) => item.type === "iteration_started" && item.iteration === 2);
  const page = await world.page();
  await page.goto(`${world.origin}/loops/${loop.id}?tab=diff`);
  const lines = page.locator("[data-diff]");
  await lines.locator(".code-keyword", { hasText: "fn" }).waitFor();
  await lines.locator("[data-note=finding]").getByText("The answer is wrong.").waitFor();
  await page.locator("[data-kept]").getByText("README.md").waitFor();
  await page.locator("[data-file='Cargo.lock']").getByText("generated").waitFor();
  await page.locator("[data-file='Cargo.lock'][aria-expanded=false]").waitFor();
  await lines.locator("[data-comment-on='2']").click();
  await lines.locator("[data-comment-on='3']").click();
  await page.getByLabel("Comment on src/app.rs:2-3").fill("Compute it instead.");
  await page.getByRole("button", { name: "Add the comment" }).click();
  await page.reload();
  await lines.locator("[data-note=comment]").getByText("Compute it instead.").waitFor();
  await page.locator("[data-comments]").getByRole("button", { name: "Send to the agent" }).click();
  await becomes(() => page.getByRole("dialog").getByLabel("Message").inputValue(), "src/app.rs:2-3\n> fn main() {\n>     let answer = 42;\nCompute it instead.");
  await page.getByRole("dialog").getByRole("button", { name: "Message" }).click();
  await page.locator("[data-comments]").waitFor({ state: "detached" });
  const { steering } = await world.api("GET", `/api/loops/${loop.id}`);
  assert.match(steering.at(-1).text, /Compute it instead/);
  assert.deepEqual(page.complaints, []);
  await world.api("POST", `/api/loops/${loop.id}/stop`);
  await page.context().close();
});

test("diff_compares_any_two_iterations_and_the_merge_target", async () => {
  const loop = await world.loop("Try it thrice", { agent: "stubborn", gates: ["test -f never"], max_iterations: 3 }, { name: "thrice" });
  await world.stopped(loop.id);
  const page = await world.page();
  await page.goto(`${world.origin}/loops/${loop.id}?tab=diff`);
  const size = (text) => page.locator("[data-diff-total]").getByText(text, { exact: true }).waitFor();
  await size("+3");
  await page.getByLabel("Compared with").selectOption("1");
  await size("+2");
  await searches(page, /since=1|since=%221%22/);
  await page.getByLabel("Changes of").selectOption("2");
  await size("+1");
  await page.getByLabel("Compared with").selectOption("0");
  await size("+2");
  await page.getByLabel("Compared with").selectOption("target");
  await page.getByLabel("Changes of").selectOption("");
  await page.getByLabel("Compared with").selectOption("target");
  await size("+3");
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

test("markdown_of_an_agent_is_rendered_and_its_html_stays_text", async () => {
  const loop = await world.loop("Write Markdown", { agent: "writer", gates: ["true"] }, { name: "written" });
  await world.stopped(loop.id);
  const page = await world.page();
  await page.goto(`${world.origin}/loops/${loop.id}?tab=overview`);
  const words = page.locator("[data-markdown]");
  await words.locator("li", { hasText: "first" }).waitFor();
  await words.locator("strong", { hasText: "bold" }).waitFor();
  await words.getByText("<img src=x onerror=alert(1)>").waitFor();
  assert.equal(await page.locator("main img, main script, a[href^='javascript']").count(), 0);
  // The same line by line, as it came.
  await page.goto(`${world.origin}/loops/${loop.id}?tab=monitor`);
  const log = page.getByRole("log");
  await log.locator("[data-mark=heading]", { hasText: "Done" }).waitFor();
  await log.locator("[data-mark=item]", { hasText: "• first" }).waitFor();
  await log.locator("strong", { hasText: "bold" }).waitFor();
  await log.getByText("<img src=x onerror=alert(1)>").waitFor();
  assert.equal(await page.locator("main img, main script, a[href^='javascript']").count(), 0);
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

test("rollback_is_chosen_from_the_strip", async () => {
  const loop = await world.loop("Try three times", { agent: "stubborn", gates: ["test -f never"], max_iterations: 3 }, { name: "rolled" });
  await world.stopped(loop.id);
  const page = await world.page();
  await page.goto(`${world.origin}/loops/${loop.id}`);
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Roll back" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Choose the iteration to return to.").waitFor();
  await dialog.getByRole("button", { name: "Roll back" }).and(page.locator(":disabled")).waitFor(); // Nothing is chosen yet.
  await dialog.getByRole("button", { name: /^Iteration 1,/ }).click();
  await dialog.getByText("Undoes iterations 2 to 3.").waitFor();
  await dialog.locator("[data-gone]").getByText("try.txt").waitFor(); // And what would go with them.
  await dialog.getByRole("button", { name: "Roll back" }).click();
  await dialog.waitFor({ state: "detached" });
  await page.locator("[data-strip] [data-cell=undone]").nth(1).waitFor();
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

test("review_card_shows_evidence_then_merge_shows_target_and_is_offered_once", async () => {
  const loop = await world.loop("Write the work down", { agent: "worker", reviewer: "judge", recipe: "audited", human_review: true, gates: ["test -f work.txt"] }, { name: "judged" });
  await world.until(loop.id, (item) => item.type === "loop_paused");
  const page = await world.page();
  await page.getByRole("listitem").filter({ hasText: "judged" }).getByRole("link", { name: "Review" }).click();
  const card = page.locator("[data-review-card]");
  await card.getByText("Write the work down").waitFor();
  await card.getByText("I have read it all, and it is good.").waitFor();
  await card.getByText("$0.50").waitFor();
  const evidence = card.locator("[data-evidence]");
  await evidence.getByText(/1 of 1 gates pass/).waitFor();
  await evidence.getByText("1 failed on the base commit").waitFor();
  await evidence.getByText("1 file").waitFor();
  await evidence.getByText("No open findings.").waitFor();
  const gate = page.locator("[data-gates] tbody tr");
  await gate.getByText("failed").waitFor();
  await gate.getByText("passed").waitFor();
  await page.locator("[data-diffstat]").getByText("1 file").waitFor();
  // On a phone the bar below has all of its buttons in sight.
  await page.setViewportSize({ width: 390, height: 844 });
  await becomes(async () => { const box = await page.locator("[data-phase-bar]").getByRole("button", { name: "Reject" }).boundingBox(); return box !== null && box.y + box.height <= 844; }, true);
  await page.setViewportSize({ width: 1280, height: 800 });
  await card.getByRole("button", { name: "Take over" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Take over" }).click();
  await page.locator("[data-takeover]").getByText("windlass resume judged").waitFor();
  await page.getByRole("dialog").locator("footer").getByRole("button", { name: "Close" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await card.getByRole("button", { name: "Approve" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Approve" }).click();
  await page.locator("[data-next]").getByText("Verified", { exact: true }).waitFor();
  await page.locator("[data-merge-state]:visible").getByText("Not merged").waitFor();
  await page.locator("[data-next]").getByRole("button", { name: "Merge" }).click();
  const preview = page.locator("[data-merge-preview]");
  await preview.getByText("main", { exact: true }).waitFor();
  await preview.locator("[data-merge-size]").getByText("1 file").waitFor();
  await preview.getByText("No conflicts").waitFor();
  await preview.getByText("The gates passed on exactly this result").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Merge" }).click();
  await page.locator("[data-next]").getByText("Merged into main").waitFor();
  await page.getByRole("button", { name: "Merge", exact: true }).waitFor({ state: "detached" }); // A merged loop is not offered again.
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

// promise: api-11
test("refused_merge_needs_a_person_and_the_agent_is_asked_to_fix_it", async () => {
  const gate = "test ! -f broken || { echo 'the target is broken'; exit 4; }";
  const loop = await world.loop("Work on it", { agent: "worker", gates: [gate] }, { name: "red" });
  await world.stopped(loop.id);
  const git = (...words) => execFileSync("git", words, { cwd: world.repo, stdio: "ignore" });
  writeFileSync(join(world.repo, "broken"), "yes\n");
  git("add", "broken");
  git("commit", "-q", "-m", "break it");
  const page = await world.page();
  await page.goto(`${world.origin}/loops/${loop.id}?tab=overview`);
  await page.locator("[data-next]").getByRole("button", { name: "Merge" }).click();
  await page.locator("[data-merge-preview]").getByText("Windlass runs this gate on the merged result first").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Merge" }).click();
  await page.getByRole("dialog").getByRole("alert").getByText("failed on the merge into main").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  const card = page.locator("[data-merge-refused]");
  await card.getByText("Not merged into main").waitFor();
  await card.locator("pre").getByText("the target is broken").waitFor();
  await page.getByRole("tab", { name: "Monitor" }).click();
  await page.getByRole("log").getByText("Not merged into main:").waitFor();
  await page.goto(world.origin);
  const row = page.getByRole("listitem").filter({ has: page.getByRole("link", { name: /^red/ }) });
  await row.locator("[data-state=person] [data-doing]").getByText("Not merged into main:").waitFor();
  git("rm", "-q", "broken");
  git("commit", "-q", "-m", "mend it");
  await row.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Continue" }).click();
  await row.locator("[data-state=done]").waitFor();
  assert.equal((await world.api("GET", `/api/loops/${loop.id}`)).merge_refused, null);
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

// promise: work-20
test("merge_dialog_shows_conflicts_before_anything_is_merged_and_the_agent_is_asked_to_resolve_them", async () => {
  const loop = await world.loop("Work on it", { agent: "resolver", gates: ["true"] }, { name: "clash" });
  await world.stopped(loop.id);
  const git = (...words) => execFileSync("git", words, { cwd: world.repo, encoding: "utf8" }).trim();
  git("branch", "clean-target");
  writeFileSync(join(world.repo, "work.txt"), "mine\n");
  git("add", "work.txt");
  git("commit", "-q", "-m", "work on it too");
  const before = git("rev-parse", "main");
  const page = await world.page();
  await page.goto(`${world.origin}/loops/${loop.id}?tab=overview`);
  await page.locator("[data-merge-line]").getByText("1 file conflicts with main").waitFor();
  await page.locator("[data-next]").getByRole("button", { name: "Merge" }).click();
  const [dialog, preview] = [page.getByRole("dialog"), page.locator("[data-merge-preview]")];
  await preview.getByText("Conflict in 1 file").waitFor();
  await preview.getByText("work.txt", { exact: true }).waitFor();
  const merge = dialog.getByRole("button", { name: "Merge", exact: true });
  assert.equal(await merge.isDisabled(), true);
  assert.deepEqual(await violations(page), []);
  // Another target has no conflict, and one that does not exist says so.
  await dialog.getByLabel("Target branch").fill("clean-target");
  await preview.getByText("No conflicts").waitFor();
  assert.equal(await merge.isDisabled(), false);
  await dialog.getByLabel("Target branch").fill("absent");
  await dialog.getByRole("alert").getByText("absent").waitFor();
  assert.equal(await merge.isDisabled(), true);
  await dialog.getByLabel("Target branch").fill("");
  assert.equal(git("rev-parse", "main"), before);
  assert.equal((await world.api("GET", `/api/loops/${loop.id}`)).merge_refused, null);
  await preview.getByRole("button", { name: "Let the agent fix it" }).click();
  await dialog.waitFor({ state: "detached" });
  // The agent resolves them, and the overview and the same dialog say so.
  await becomes(async () => { const { iterations, status } = await world.api("GET", `/api/loops/${loop.id}`); return [iterations, status]; }, [2, "completed"]);
  await page.locator("[data-merge-line]").getByText("No conflicts with main").waitFor();
  await page.locator("[data-next]").getByRole("button", { name: "Merge" }).click();
  await preview.getByText("No conflicts").waitFor();
  // The refused request for the missing branch is the browser's only complaint.
  assert.deepEqual(page.complaints.filter((words) => !/40[09]|422|absent/.test(words)), []);
  await page.context().close();
});

test("lines_are_commented_on_by_keyboard_alone", async () => {
  const loop = await world.loop("Write a file", { agent: "changer", gates: ["true"] }, { name: "keys" });
  await world.stopped(loop.id);
  const page = await world.page();
  await page.goto(`${world.origin}/loops/${loop.id}?tab=diff`);
  const lines = page.locator("[data-diff=unified]");
  await lines.locator("[data-comment-on]").first().waitFor();
  await lines.focus();
  const at = (side, number) => lines.locator(`[data-line-side=${side}][data-comment-on='${number}']:focus`).waitFor();
  await page.keyboard.press("ArrowDown");
  await at("before", 1);
  await page.keyboard.press("ArrowDown");
  await at("after", 1);
  await page.keyboard.press("Enter");
  await lines.locator("textarea:focus").waitFor();
  await page.keyboard.type("Say shop.");
  await page.keyboard.press("Control+Enter");
  await lines.locator("[data-note=comment]").getByText("Say shop.").waitFor();
  await at("after", 1);
  // Far down, where rows come into the page only now.
  for (let line = 1; line <= 70; line += 1) {
    await page.keyboard.press("ArrowDown");
    await at("after", line);
  }
  await page.keyboard.press("Enter");
  await lines.locator("textarea:focus").waitFor();
  await page.keyboard.press("Escape");
  await at("after", 70);
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

test("overview_of_a_running_loop_shows_what_its_agent_says", async () => {
  const loop = await world.loop("Wait for it", { agent: "patient" }, { name: "talking" });
  await world.until(loop.id, (item) => item.type === "text");
  const page = await world.page();
  await page.goto(`${world.origin}/loops/${loop.id}?tab=overview`);
  await page.locator("[data-live-words]").getByText("I wait.").waitFor();
  assert.deepEqual(page.complaints, []);
  await page.context().close();
  await world.api("POST", `/api/loops/${loop.id}/stop`, {});
  await world.stopped(loop.id);
});

test("pause_request_is_visible_until_the_turn_ends", async () => {
  const loop = await world.loop("Wait for it", { agent: "patient" }, { name: "pausing" });
  await world.until(loop.id, (item) => item.type === "text");
  const page = await world.page();
  await page.goto(`${world.origin}/loops/${loop.id}?tab=overview`);
  await page.locator("[data-connection=open]").waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await page.locator("[data-wish]").getByText("Pauses after this turn").waitFor();
  await page.locator("[data-next]").getByText("Pauses after this turn").waitFor();
  await page.getByRole("tab", { name: "Monitor" }).click();
  await page.getByRole("log").getByText("Pause requested").waitFor();
  await world.api("POST", `/api/loops/${loop.id}/stop`);
  await page.locator("[data-wish]").waitFor({ state: "detached" });
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});
