// Every page: at phone width, in both themes, in Chinese, with hostile text, without complaints.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { REVIEW, World, becomes, violations } from "./world.mjs";

const HOSTILE = `<script>window.hacked = 1</script><img src=x onerror="window.hacked = 1">`;
/** Turns the reading direction; the terminal's red. */
const LYING = "\u202eexe.txt \u001b[31m";
/** What a reader must never get to see as it is. */
const INVISIBLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;
const world = new World();
let paths = [];

before(async () => {
  world.agent("hostile", `
    const bad = ${JSON.stringify(HOSTILE)};
    await event({ type: "tool_use", id: "2", name: "Read", input: "y".repeat(10_000_000) });
    await say("z".repeat(10_000_000));
    await say("said " + bad + " \\u001b[31mred\\u001b[0m \\u001b]0;title\\u0007 \\u001b]8;;javascript:alert(1)\\u0007click\\u001b]8;;\\u0007 \\u202eevil");
    await event({ type: "thinking", text: "thought " + bad });
    await event({ type: "tool_use", id: "1", name: bad, input: "@@ -1 +1 @@\\n-old " + bad + "\\n+new " + bad });
    await event({ type: "tool_result", id: "1", output: bad, is_error: true });
    if (iteration > 1) await event({ type: "error", kind: "other", message: bad });
    write("\u202eexe.txt", "a \u202e b \u001b[31m c\\n");
    write("<script>window.hacked = 1<\\/script>.txt".replace("\\\\/", "_").replaceAll("/", "_"), bad + "\\n");
    await usage(1000, 100, 0.1, bad);
    await say(DONE);
  `);
  world.agent("critic", `await say("critic: " + ${JSON.stringify(HOSTILE)}); ${REVIEW({ findings: [{ file: "<script>alert(1)</script>.txt", line: 1, severity: "bug", description: `${HOSTILE} \u202eturned`, scenario: HOSTILE }], verdict: "dirty" })}`);
  world.agent("limited", `await event({ type: "error", kind: "rate_limit", message: "5-hour limit reached", retry_after_ms: 4980000 }); process.exit(1);`);
  await world.serve();
  const loop = await world.loop(`Be hostile ${HOSTILE} ${LYING}`, { agent: "hostile", reviewer: "critic", recipe: "audited", gates: ["echo '<b>gate</b>'"], max_iterations: 2 });
  await world.stopped(loop.id);
  const waiting = await world.loop("Wait for the provider", { agent: "limited" }, { name: "limited" });
  await world.until(waiting.id, (item) => item.type === "wait_started");
  await world.api("POST", "/api/milestones", { project: world.repo, id: "search", title: `Search ${HOSTILE} \u202e turned`, goal: "g", features: [`F1: ${HOSTILE}`], criteria: ["c"] });
  paths = ["/", "/new", "/queue", "/milestones", "/usage", "/agents", "/settings", "/nowhere", ...["overview", "monitor", "timeline", "diff", "findings", "plan", "prompts", "usage", "raw"].map((tab) => `/loops/${loop.id}?tab=${tab}`)];
});
after(() => world.end());

/** The page has what it shows: no skeleton left. */
async function settled(page) {
  await page.waitForFunction(() => document.querySelector("main")?.textContent?.trim() && !document.querySelector("main [role=status]"));
}

/** How much wider the page is than the screen, itself and what scrolls in it. */
const tooWide = (page) => page.evaluate(() => Math.max(...[document.documentElement, ...document.querySelectorAll("main, main [role=tabpanel]")].map((box) => box.scrollWidth - box.clientWidth)));

test("a form with long choices and long paths fits a phone", async () => {
  const page = await world.page({ viewport: { width: 390, height: 844 }, hasTouch: true });
  await page.goto(`${world.origin}/new`);
  // The hostile loop, whose goal is long, is offered as a template.
  await page.locator("select[name=project]").selectOption(world.repo);
  await page.getByRole("option", { name: "Be hostile" }).first().waitFor({ state: "attached" });
  await becomes(() => page.getByLabel("Agent", { exact: true }).inputValue(), "critic", "nothing is usual here, so one that exists is chosen, and not the demo");
  await page.getByText("More", { exact: true }).click();
  assert.equal(await tooWide(page), 0);
  await page.goto(`${world.origin}/agents`);
  await page.getByRole("heading", { name: "goose" }).waitFor();
  assert.equal(await tooWide(page), 0, "an address in an installation command is long");
  await page.context().close();
});

test("phone_shows_agent_branch_and_claims_in_the_overview", async () => {
  const page = await world.page({ viewport: { width: 390, height: 844 }, hasTouch: true });
  await page.goto(world.origin + paths.find((path) => path.endsWith("overview")));
  const details = page.locator("[data-details]");
  await details.getByText("hostile", { exact: false }).first().waitFor();
  await details.getByText(/^windlass\//).waitFor();
  await details.getByRole("button", { name: /^Copy/ }).waitFor();
  await page.setViewportSize({ width: 1280, height: 800 });
  await details.waitFor({ state: "hidden" });
  await page.context().close();
});

test("loop_that_does_not_exist_leads_back_to_the_list", async () => {
  const page = await world.page();
  await page.goto(`${world.origin}/loops/nothing`);
  await page.getByText("There is no loop nothing").waitFor();
  await page.locator("main").getByRole("link", { name: "Loops" }).click();
  await page.getByRole("listitem").first().waitFor();
  await page.context().close();
});

test("address_with_an_unknown_end_of_the_diff_shows_the_diff", async () => {
  const page = await world.page();
  await page.goto(`${world.origin + paths.find((path) => path.endsWith("diff"))}&since=base`);
  await page.locator("[data-diff-total]").waitFor();
  await page.context().close();
});

test("no page scrolls sideways at 390 px, and none complains", async () => {
  const page = await world.page({ viewport: { width: 390, height: 844 }, hasTouch: true });
  for (const path of paths) {
    await page.goto(world.origin + path);
    await settled(page);
    const over = await tooWide(page);
    assert.ok(over <= 0, `${path} is ${over} px too wide`);
  }
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

test("the header fits at every width", async () => {
  const page = await world.page();
  await page.goto(world.origin);
  const last = page.getByRole("button", { name: "Theme and language" });
  for (const width of [390, 640, 768, 1024, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    const box = await last.boundingBox();
    assert.ok(box && box.x + box.width <= width, `at ${width} the last button ends at ${box?.x + box?.width}`);
  }
  await page.context().close();
});

for (const [name, options] of [["light", { colorScheme: "light" }], ["dark", { colorScheme: "dark" }], ["on a phone", { viewport: { width: 390, height: 844 }, hasTouch: true }]]) {
  test(`axe finds nothing on any page, ${name}`, async () => {
    const page = await world.page({ ...options, reducedMotion: "reduce" });
    const all = [];
    for (const path of paths) {
      await page.goto(world.origin + path);
      await settled(page);
      all.push(...(await violations(page)).map((text) => `${path} ${text}`));
    }
    assert.deepEqual(all, []);
    await page.context().close();
  });
}

test("what agents write stays text everywhere: scripts, markup, escapes, in goals, names, output, findings", async () => {
  // High enough for every row that is looked for below: the panes show the end of the output.
  const page = await world.page({ viewport: { width: 1280, height: 2_000 } });
  for (const path of paths) {
    await page.goto(world.origin + path);
    await settled(page);
    assert.equal(await page.evaluate(() => window.hacked), undefined, path);
    assert.doesNotMatch(await page.evaluate(() => document.body.innerText), INVISIBLE, path);
    assert.equal(await page.locator("main script, main img, main iframe, a[href^='javascript']").count(), 0, path);
  }
  await page.goto(world.origin + paths.find((path) => path.endsWith("monitor")));
  const log = page.locator("[data-side=coder]").getByRole("log");
  await log.getByText("said <script>window.hacked = 1</script>", { exact: false }).first().waitFor();
  assert.equal(await log.locator(".fg-1", { hasText: "red" }).first().textContent(), "red");
  const line = await log.getByText("said <script>").first().evaluate((element) => element.closest("[data-index]").textContent);
  assert.ok(!/[\u001b\u0007\u202e]|title|javascript:/.test(line), line);
  const reviewer = page.locator("[data-side=reviewer]");
  const card = reviewer.locator("[data-review=dirty]");
  await card.getByText("<script>alert(1)</script>.txt:1", { exact: true }).waitFor();
  await becomes(() => card.getByText(HOSTILE).count(), 2, "what is wrong, and when it shows");
  assert.equal(await reviewer.getByText("windlass-review").count(), 0, "the review is shown as what it means");
  await card.getByRole("button", { name: "As written" }).click();
  await card.getByText("```windlass-review").waitFor();
  assert.doesNotMatch(await card.innerText(), INVISIBLE);
  // Ten megabytes before it do not push the end out of a pane that follows.
  await page.locator("[data-follow=coder][aria-pressed=true]").waitFor();
  await log.getByText("Limit reached").waitFor();
  await page.goto(world.origin + paths.find((path) => path.endsWith("findings")));
  await page.getByRole("listitem").getByText(HOSTILE).first().waitFor();
  await page.goto(world.origin + paths.find((path) => path.endsWith("diff")));
  await page.getByText("window.hacked", { exact: false }).first().waitFor();
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.deepEqual(page.complaints, [], "also no complaint of the policy");
  await page.context().close();
});

test("繁體中文 by the browser's wish, 简体中文 by choice, kept", async () => {
  const page = await world.page({ locale: "zh-TW" });
  await page.getByRole("link", { name: "新增迴圈" }).first().waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.lang), "zh-Hant");
  for (const path of paths) {
    await page.goto(world.origin + path);
    await settled(page);
    const raw = await page.evaluate(() => /\b(nav|loop|loops|feed|phase|status|settings|new|state|role|reason)\.[a-z_]+\b/.exec(document.body.innerText.replaceAll(/windlass\.\w+/g, ""))?.[0]);
    assert.equal(raw, undefined, `${path} shows a key instead of a text`);
  }
  await page.goto(world.origin);
  const row = page.getByRole("listitem").filter({ hasText: "limited" });
  await becomes(() => row.locator("[data-doing]").textContent(), "等待速率限制解除 (5-hour limit reached)", "the kind is ours to say, the words in brackets are the provider's");
  await page.getByRole("button", { name: "主題與語言" }).click();
  await page.getByRole("menuitemcheckbox", { name: "简体中文" }).click();
  await page.getByRole("link", { name: "新建循环" }).first().waitFor();
  await page.reload();
  await page.getByRole("link", { name: "新建循环" }).first().waitFor();
  await page.context().close();
});

test("the theme is the system's, until somebody chooses; charts follow", async () => {
  const page = await world.page({ colorScheme: "dark" });
  await page.goto(world.origin + paths.find((path) => path.endsWith("tab=usage")));
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const chart = () => page.locator("[data-column] rect").first().evaluate((bar) => getComputedStyle(bar).fill);
  await settled(page);
  const dark = { ground: await ground(), chart: await chart() };
  await page.getByRole("button", { name: "Theme and language" }).click();
  await page.getByRole("menuitemcheckbox", { name: "Light" }).click();
  await becomes(async () => (await ground()) !== dark.ground && (await chart()) !== dark.chart, true);
  await page.reload();
  await settled(page);
  const light = { ground: await ground(), chart: await chart() };
  assert.notDeepEqual(light, dark);
  await page.getByRole("button", { name: "Theme and language" }).click();
  await page.getByRole("menuitemcheckbox", { name: "Dark" }).click();
  await becomes(async () => ({ ground: await ground(), chart: await chart() }), dark, "as if it had been painted in dark from the beginning");
  await page.context().close();
});
