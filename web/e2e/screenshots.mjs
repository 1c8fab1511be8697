// The images of the docs: real loops of scripted agents, in a real browser. `npm run screenshots` [folder]

import { mkdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { REVIEW, World } from "./world.mjs";
import { fileURLToPath } from "node:url";

const out = resolve(process.argv[2] ?? fileURLToPath(new URL("../../docs/images", import.meta.url)));
mkdirSync(out, { recursive: true });
const world = new World();

const PATCH = `--- a/src/search.js
+++ b/src/search.js
@@ -3,7 +3,9 @@ export function words(text) {
   const found = [];
-  for (const word of text.split(" ")) found.push(word);
+  for (const word of text.split(/\\\\s+/)) {
+    if (word) found.push(word.toLowerCase());
+  }
   return found;
 }
`;
world.agent("coder", `
  await say("I read the plan and the search module first.");
  await event({ type: "tool_use", id: "1", name: "Read", input: "src/search.js" });
  await event({ type: "tool_result", id: "1", output: "export function words(text) {\\n  const found = [];\\n" });
  await event({ type: "tool_use", id: "2", name: "Bash", input: "node --test" });
  await event({ type: "tool_result", id: "2", output: "# tests 12\\n# pass 11\\n# fail 1\\n", is_error: true });
  await event({ type: "thinking", text: "Words are split at single blanks only, so two blanks make an empty word." });
  await event({ type: "tool_use", id: "3", name: "Edit", input: ${JSON.stringify(PATCH)} });
  await event({ type: "tool_result", id: "3", output: "edited" });
  append("src/search.js", "// words are split at any white space, turn " + iteration + "\\n");
  if (iteration > 1) write("fixed", "yes\\n");
  await usage(18400, 2100, 0.21, "sonnet");
  for (let number = 1; number <= 14; number += 1) await say("\\u001b[2mcase " + String(number).padStart(2) + "\\u001b[0m  " + (number === 9 && iteration === 1 ? "\\u001b[31m✗ two blanks\\u001b[0m" : "\\u001b[32m✓\\u001b[0m words, blanks and tabs"));
  if (iteration > 1 && process.env.WINDLASS_TURN) await held("coder-" + (prompt.includes("export") ? "b" : "a"));
  await say("Every test passes now."); await say(DONE);
`);
world.agent("auditor", `
  await say("I compare the diff with the plan, section by section.");
  await event({ type: "tool_use", id: "1", name: "Bash", input: "git show --stat HEAD" });
  await event({ type: "tool_result", id: "1", output: " src/search.js | 6 ++++--" });
  await say("Splitting is right now. An empty query still finds everything.");
  await usage(9100, 800, 0.08, "opus");
  ${REVIEW({ findings: [{ file: "src/search.js", line: 4, severity: "bug", description: "An empty query matches every note.", scenario: "Clear the box and press Enter: the whole list appears." }, { file: "src/search.js", severity: "warning", description: "No test covers tabs." }], verdict: "dirty" })}
`);
world.agent("content", `await say("Nothing to object to."); await usage(4000, 300, 0.03, "opus"); ${REVIEW({ verdict: "clean" })}`);
world.agent("quick", `append("CHANGES.md", "- done\\n"); await usage(5200, 640, 0.06, "haiku"); await say("Done."); await say(DONE);`);
world.agent("limited", `await say("I begin."); await event({ type: "error", kind: "rate_limit", message: "5-hour limit reached", retry_after_ms: 4980000 }); process.exit(1);`);
world.agent("lost", `await say("I try."); await usage(2200, 90, 0.02, "haiku"); await say(DONE);`);

const shop = world.repository("web-shop", { "src/search.js": "export function words(text) {\n  const found = [];\n  for (const word of text.split(\" \")) found.push(word);\n  return found;\n}\n" });
const notes = world.repository("notes", { "README.md": "notes\n" });
const at = (project, goal, name, settings) => world.api("POST", "/api/loops", { project, goal, name, settings });

try {
  await world.serve();
  const done = await at(notes, "The changelog names every release since 1.0", "changelog", { agent: "quick", gates: ["test -f CHANGES.md"], budget_usd: 1 });
  await world.stopped(done.id);
  const tired = await at(notes, "All links in the handbook answer", "handbook-links", { agent: "lost", gates: ["test -f links.ok"], max_iterations: 2 });
  await world.stopped(tired.id);
  const asks = await at(shop, "Prices are shown with tax in every country", "prices-with-tax", { agent: "quick", reviewer: "content", recipe: "audited", human_review: true, gates: ["test -f CHANGES.md"] });
  await world.until(asks.id, (item) => item.type === "loop_paused");
  const waits = await at(notes, "Port the importer to the new API", "importer", { agent: "limited", budget_usd: 10 });
  await world.until(waits.id, (item) => item.type === "wait_started");
  const works = await at(shop, "Search finds every word of a note, whatever is between the words", "search-words", { agent: "coder", reviewer: "auditor", recipe: "audited", gates: ["node --check src/search.js", "test -f src/search.js"], budget_usd: 5, max_iterations: 15 });
  const second = await at(shop, "The export has a column for each currency", "export-columns", { agent: "coder", gates: ["test -f fixed"], budget_usd: 3 });
  for (const loop of [works, second]) await world.until(loop.id, (item) => item.type === "text" && item.turn.iteration === 2 && /case 14/.test(item.text));
  await world.api("POST", "/api/milestones", { project: shop, id: "search", title: "Search", goal: "Find notes by text", features: ["F1: a search box (acceptance: it has the focus)", "F2: results while typing"], criteria: ["all tests pass"] });
  await world.api("POST", "/api/milestones", { project: shop, id: "export", title: "Export", goal: "Take the data along", features: ["F1: CSV (acceptance: opens in a spreadsheet)"], criteria: ["all tests pass"], human_review: true });

  const PAGES = [
    { name: "dashboard-loops", path: "/", width: 1280, height: 620, theme: "light" },
    { name: "dashboard-overview", path: `/loops/${tired.id}`, width: 1280, height: 800, theme: "light" },
    { name: "dashboard-monitor", path: `/loops/${works.id}?tab=monitor`, width: 1280, height: 800, theme: "dark" },
    { name: "dashboard-timeline", path: `/loops/${works.id}?tab=timeline`, width: 1280, height: 800, theme: "light" },
    { name: "dashboard-new", path: "/new", width: 1280, height: 800, theme: "light", fill: true },
    { name: "dashboard-phone", path: `/loops/${asks.id}`, width: 390, height: 844, theme: "light" },
  ];
  const EXTRA = [390, 1280, 1920].flatMap((width) => ["light", "dark"].flatMap((theme) => [["/", "loops"], ["/new", "new"], ["/milestones", "milestones"], ["/agents", "agents"], ["/settings", "settings"], [`/loops/${asks.id}?tab=overview`, "review"], [`/loops/${tired.id}?tab=overview`, "refused"], ...["overview", "monitor", "timeline", "diff", "findings", "plan", "prompts", "usage", "raw"].map((tab) => [`/loops/${works.id}?tab=${tab}`, tab])].map(([path, name]) => ({ name: `${name}-${width}-${theme}`, path, width, height: width < 500 ? 844 : 900, theme }))));

  // ALL is a pattern: `ALL=.` takes every page at every size, `ALL=1280-dark` some of them.
  for (const shot of process.env.ALL ? EXTRA.filter(({ name }) => new RegExp(process.env.ALL).test(name)) : PAGES) {
    const page = await world.page({ viewport: { width: shot.width, height: shot.height }, colorScheme: shot.theme, reducedMotion: "reduce" });
    await page.goto(world.origin + shot.path);
    await page.waitForFunction(() => document.querySelector("main")?.textContent?.trim() && !document.querySelector("main [role=status]") && document.querySelector("[data-connection=open]"));
    if (shot.fill) {
      await page.getByLabel("Goal").fill("Every page of the shop loads in under a second");
      await page.locator("select[name=project]").selectOption(shop);
      await page.getByLabel("Agent", { exact: true }).selectOption("coder");
      await page.getByLabel("Gates").fill("npm test\nnode bench/pages.js --max-ms 1000");
      await page.getByRole("complementary").getByText("every-page-of-the-shop").first().waitFor();
    }
    await page.evaluate(() => new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(painted))));
    const path = join(out, `${shot.name}.png`);
    await page.screenshot({ path });
    console.log(`${(statSync(path).size / 1000).toFixed(0).padStart(5)} KB  ${path}`);
    await page.context().close();
  }
} finally {
  await world.end();
}
