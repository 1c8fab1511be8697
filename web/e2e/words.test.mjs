// What the server says, in the page's language; what an agent was sent, part by part; the order of milestones by mouse.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { World, becomes } from "./world.mjs";

const world = new World();
before(async () => {
  world.agent("stubborn", `append("try.txt", "x\\n"); await say("Sure."); await say(DONE);`);
  mkdirSync(join(world.repo, ".windlass/recipes"), { recursive: true });
  writeFileSync(join(world.repo, ".windlass/recipes/strict.toml"), 'extends = "audited"\nabout = "Two pairs of eyes"\nmax_iterations = 3\n');
  await world.serve();
});
after(() => world.end());

// promise: api-10
test("errors_have_codes_with_parameters", async () => {
  const response = await fetch(`${world.origin}/api/loops/preview`, { method: "POST", headers: { Authorization: `Bearer ${world.token}`, "Content-Type": "application/json" }, body: JSON.stringify({ project: world.repo, goal: "g", settings: { agent: "stuborn" } }) });
  const { error } = await response.json();
  assert.deepEqual(error.message_code, { id: "agent_unknown", params: { name: "stuborn" } });
  assert.deepEqual(error.hint_code, { id: "hint_near_agent", params: { near: "stubborn" } });
});

test("form_errors_are_at_their_field_in_chinese_with_what_to_do", async () => {
  const page = await world.page({ locale: "zh-TW" });
  await page.goto(`${world.origin}/new`);
  await page.locator("textarea[name=goal]").fill("修好它");
  await page.locator("select[name=agent]").selectOption("stubborn");
  await page.locator("details summary", { hasText: "更多" }).click();
  await page.locator("input[name=name]").fill("-bad");
  const error = page.locator("[role=alert]", { hasText: "「-bad」不是有效的迴圈名稱" });
  await error.getByText("最多 64 個字元").waitFor();
  await becomes(() => page.locator("input[name=name]").getAttribute("aria-invalid"), "true");
  await page.locator("input[name=name]").fill("");
  const preview = page.getByRole("complementary");
  await preview.getByText("沒有關卡：無法驗證完成聲明").waitFor();
  await preview.getByText("每回合").waitFor();
  await preview.getByText("獨立的複本").waitFor();
  await preview.getByText("磁碟空間").waitFor();
  assert.doesNotMatch(await preview.innerText(), /enforced|kept free|separate clone|suggested|--gate/);
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

test("settings_say_what_they_are_for_in_chinese", async () => {
  const page = await world.page({ locale: "zh-CN" });
  await page.goto(`${world.origin}/settings`);
  await page.getByText("循环总费用的上限（美元）。默认：不限。").waitFor({ state: "attached" });
  assert.equal(await page.getByText("Limit on a loop's total cost").count(), 0);
  await page.context().close();
});

test("recipes_of_the_project_are_offered_and_have_a_reviewer_if_they_extend_one_that_has", async () => {
  const page = await world.page();
  await page.goto(`${world.origin}/new?project=${encodeURIComponent(world.repo)}`);
  await page.locator("select[name=recipe] option[value=strict]").waitFor({ state: "attached" });
  await page.locator("select[name=recipe]").selectOption("strict");
  await page.getByText("Two pairs of eyes").waitFor();
  await page.locator("select[name=reviewer]").waitFor();
  await page.context().close();
});

test("prompt_shows_its_parts", async () => {
  const loop = await world.loop("Pass the gate", { agent: "stubborn", gates: ["echo nothing works; exit 3"], max_iterations: 2 }, { name: "parts" });
  await world.stopped(loop.id);
  const page = await world.page();
  await page.goto(`${world.origin}/loops/${loop.id}?tab=prompts`);
  await page.locator("[data-part=gates]").getByText("nothing works").first().waitFor();
  await page.locator("[data-part=goal]").getByText("Pass the gate").waitFor();
  await page.locator("[data-part=promise]").waitFor();
  await page.locator("[data-part=gates] [data-markdown] pre", { hasText: "nothing works" }).waitFor();
  await page.getByRole("button", { name: "As written" }).click();
  await page.locator("[data-part=gates] > pre", { hasText: "```" }).waitFor();
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

// promise: api-13
test("what_grows_with_a_loop_has_pages", async () => {
  const loop = await world.loop("Have a history", { agent: "stubborn", gates: ["false"], max_iterations: 3 }, { name: "paged" });
  await world.stopped(loop.id);
  const read = (what, query = "") => world.api("GET", `/api/loops/${loop.id}/${what}${query}`);
  const journal = await read("journal");
  assert.deepEqual(await read("journal", "?limit=3"), journal.slice(0, 3));
  assert.deepEqual(await read("journal", `?after=${journal[2].seq}&limit=2`), journal.slice(3, 5));
  for (const what of ["turns", "sizes"]) {
    const all = await read(what);
    assert.equal(all.length, 3, what);
    assert.deepEqual(await read(what, "?after=1&limit=1"), all.slice(1, 2), what);
    assert.deepEqual(await read(what, "?after=7"), [], what);
  }
  const { iterations } = await read("iterations");
  const page = await read("iterations", "?after=1&limit=1");
  assert.deepEqual([page.before, page.iterations], [[], iterations.slice(1, 2)]);
});

// promise: api-13
test("lists_have_pages_after_their_last_row", async () => {
  // A repository of its own, so that the board of the others shows what their tests made.
  const shelf = world.repository("shelf", { "README.md": "shelf\n" });
  const project = `project=${encodeURIComponent(shelf)}`;
  for (const id of ["one", "two", "three"]) await world.api("POST", "/api/milestones", { project: shelf, id: `paged-${id}`, title: id, goal: "g", features: ["F1: f"], criteria: ["c"] });
  const walks = async (path, key, rows) => {
    const ask = (query) => world.api("GET", `${path}${path.includes("?") ? "&" : "?"}${query}`);
    const all = rows(await world.api("GET", path)).map((row) => row[key]);
    assert.ok(all.length > 0, path);
    const walked = [];
    for (let last; ; last = walked.at(-1)) {
      const some = rows(await ask(last === undefined ? "limit=1" : `limit=1&after=${encodeURIComponent(last)}`)).map((row) => row[key]);
      if (some.length === 0) break;
      walked.push(...some);
    }
    assert.deepEqual(walked, all, path);
    await assert.rejects(ask("after=gone"), /400.*is not in this list/, `${path}: a row that is gone has no next page`);
  };
  await walks("/api/agents", "name", (got) => got);
  await walks("/api/projects", "path", (got) => got);
  await walks(`/api/milestones?${project}`, "id", (got) => got.milestones);
  await walks("/api/loops", "id", (got) => got.loops);
  // Last: its goals become loops while their pages are read.
  await world.api("POST", "/api/queue", { goals: ["first", "second", "third"].map((goal) => ({ run: { project: world.repo, goal, settings: { agent: "stubborn", gates: ["false"], max_iterations: 1 } } })) });
  await walks("/api/queue", "id", (got) => got.goals);
  const recipes = await world.api("GET", "/api/recipes");
  assert.deepEqual(await world.api("GET", "/api/recipes?after=1&limit=2"), recipes.slice(1, 3));
});

test("milestones_are_put_in_order_by_dragging_and_the_project_is_in_the_address", async () => {
  for (const id of ["one", "two", "three"]) await world.api("POST", "/api/milestones", { project: world.repo, id, title: id, goal: "g", features: ["F1: f"], criteria: ["c"] });
  const page = await world.page();
  await page.goto(`${world.origin}/milestones?project=${encodeURIComponent(world.repo)}`);
  await page.locator("[data-milestone=three]").dragTo(page.locator("[data-milestone=one]"));
  const order = async () => (await world.api("GET", `/api/milestones?project=${encodeURIComponent(world.repo)}`)).milestones.map((each) => each.id).join();
  await becomes(order, "three,one,two");
  await becomes(async () => (await page.locator("[data-milestone]").evaluateAll((cards) => cards.map((card) => card.dataset.milestone))).join(), "three,one,two");
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

test("board_without_milestones_says_where_there_are_some", async () => {
  const empty = world.repository("empty", { "README.md": "empty\n" });
  const loop = await world.loop("Anything", { agent: "stubborn" }, { project: empty });
  await world.stopped(loop.id);
  const page = await world.page();
  await page.goto(`${world.origin}/milestones?project=${encodeURIComponent(empty)}`);
  await page.locator("[data-elsewhere]").getByRole("button", { name: "shop 3" }).click();
  await page.locator("[data-milestone=one]").waitFor();
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});
