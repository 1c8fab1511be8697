// Forty loops in six repositories, as a team would have them: every recipe, every outcome, some that need a person, some at
// work. The images of the docs and the walk over all pages use them.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { REVIEW } from "./world.mjs";

const SEARCH = `export function words(text) {\n  const found = [];\n  for (const word of text.split(" ")) found.push(word);\n  return found;\n}\n\nexport function matches(note, query) {\n  return words(query).every((word) => words(note.text).includes(word));\n}\n`;
const RUST = `//! Amounts in the smallest unit of a currency.\n\npub struct Amount {\n    pub cents: i64,\n}\n\nimpl Amount {\n    pub fn with_tax(&self, rate: f64) -> Amount {\n        Amount { cents: (self.cents as f64 * (1.0 + rate)) as i64 }\n    }\n}\n`;
const PYTHON = `import csv\n\n\ndef rows(path):\n    with open(path) as file:\n        return list(csv.reader(file))\n`;

const REPOSITORIES = {
  "web-shop": { "src/search.js": SEARCH, "src/cart.js": "export const cart = [];\n", "test/search.test.js": "import { words } from '../src/search.js';\n", "package.json": '{ "name": "web-shop", "scripts": { "test": "node --test", "lint": "eslint ." } }\n', "package-lock.json": "{}\n" },
  billing: { "src/amount.rs": RUST, "src/lib.rs": "pub mod amount;\n", "Cargo.toml": '[package]\nname = "billing"\nversion = "0.1.0"\n' },
  importer: { "importer/reader.py": PYTHON, "tests/test_reader.py": "def test_rows():\n    assert True\n", "pyproject.toml": '[project]\nname = "importer"\n' },
  handbook: { "README.md": "# Handbook\n\nHow we work.\n", "docs/links.md": "[home](/)\n" },
  "mobile-app": { "src/App.tsx": "export const App = () => null;\n", "README.md": "app\n" },
  infrastructure: { "main.tf": 'resource "null_resource" "a" {}\n', "Makefile": "test:\n\ttrue\n" },
};

const TOOLS = `
  await event({ type: "tool_use", id: "1", name: "Read", input: "src/search.js" });
  await event({ type: "tool_result", id: "1", output: "export function words(text) {\\n  const found = [];\\n" });
  await event({ type: "tool_use", id: "2", name: "Bash", input: "npm test" });
  await event({ type: "tool_result", id: "2", output: "# tests 12\\n# pass 11\\n# fail 1\\n", is_error: true });
  await event({ type: "thinking", text: "Words are split at single blanks only, so two blanks make an empty word." });
`;
const FIXED = SEARCH.replace('for (const word of text.split(" ")) found.push(word);', "for (const word of text.toLowerCase().split(/\\s+/)) {\n    if (word) found.push(word);\n  }");

function agents(world) {
  // Writes the fix in its second iteration: the first claim is refused by the gate.
  world.agent("careful", `
    await say("I read the **search module** and its tests first:\\n\\n- \`words\` splits at single blanks\\n- nothing lowers the case\\n");
    ${TOOLS}
    if (iteration === 1) append("src/search.js", "// split at any white space\\n");
    else { write("src/search.js", ${JSON.stringify(FIXED)}); write("fixed", "yes\\n"); write("test/blanks.test.js", "// two blanks, tabs, new lines\\n".repeat(12)); write("package-lock.json", '{ "lockfileVersion": 3 }\\n'); }
    await usage(18400, 2100, 0.21, "claude-sonnet-4-5");
    await say(iteration === 1 ? "I believe that every test passes now." : "## Done\\n\\nWords are split at any white space, and case no longer matters. I added a test for tabs."); await say(DONE);`);
  world.agent("quick", `${TOOLS} append("CHANGES.md", "- " + prompt.length + "\\n"); await usage(5200, 640, 0.06, "claude-haiku-4-5"); await say("The change is small; the tests pass."); await say(DONE);`);
  world.agent("stubborn", `append("notes.md", "try " + iteration + "\\n"); await usage(9300, 1200, 0.11, "gpt-5-codex"); await say("All links answer now."); await say(DONE);`);
  world.agent("idle", `await usage(2200, 90, 0.02, "claude-haiku-4-5"); await say("There is nothing to change."); await say(DONE);`);
  world.agent("silent", `await usage(7100, 800, 0.09, "gpt-5-codex"); append("notes.md", "more " + iteration + "\\n"); await say("I improved the wording.");`);
  world.agent("limited", `await say("I begin."); await event({ type: "error", kind: "rate_limit", message: "5-hour limit reached", retry_after_ms: 4980000 }); process.exit(1);`);
  world.agent("logged-out", `await event({ type: "error", kind: "auth", message: "Invalid API key · run /login" }); process.exit(1);`);
  world.agent("broken", `await say("Starting."); process.stderr.write("TypeError: cannot read properties of undefined (reading 'model')\\n"); process.exit(1);`);
  world.agent("worker", `
    await say("I read the plan, then the code."); ${TOOLS} append("src/work.js", "export const step" + iteration + " = " + iteration + ";\\n"); await usage(24100, 3900, 0.34, "claude-opus-4-5");
    for (let number = 1; number <= 14; number += 1) await say("\\u001b[2mcase " + String(number).padStart(2) + "\\u001b[0m  " + (number === 9 ? "\\u001b[31mfailed: two blanks\\u001b[0m" : "\\u001b[32mok\\u001b[0m words, blanks and tabs"));
    await held("never");`);
  world.agent("clean", `await say("I compared the diff with the goal. Nothing to object to."); await usage(4000, 300, 0.03, "gpt-5"); ${REVIEW({ verdict: "clean" })}`);
  world.agent("picky", `await say("Splitting is right now. An empty query still finds **everything**."); await usage(9100, 800, 0.08, "gpt-5");
    ${REVIEW({ findings: [{ file: "src/search.js", line: 4, severity: "bug", description: "An empty query matches every note.", scenario: "Clear the box and press Enter: the whole list appears." }, { file: "src/search.js", severity: "warning", description: "No test covers tabs." }], verdict: "dirty" })}`);
}

const TEST = `for n in 1 2 3 4 5 6 7 8; do echo "ok $n - words"; done; test -f fixed || { echo "not ok 9 - two blanks make one gap"; echo "  expected: ['a', 'b']"; echo "  actual:   ['a', '', 'b']"; exit 1; }`;
const LINKS = `echo "checking 214 links"; echo "404  https://docs.example.com/old/setup"; echo "404  https://docs.example.com/old/team"; echo "2 of 214 links fail"; exit 3`;

/** Makes them. Answers with the loops by name, and the directories of the repositories. */
export async function seed(world) {
  agents(world);
  world.top("max_running = 40\n");
  const dirs = Object.fromEntries(Object.entries(REPOSITORIES).map(([name, files]) => [name, world.repository(name, files)]));
  writeFileSync(join(dirs["web-shop"], "PLAN.md"), "# Plan\n\n## Split words\n\nAt any white space.\n");
  execFileSync("git", ["add", "-A"], { cwd: dirs["web-shop"] });
  execFileSync("git", ["commit", "-q", "-m", "plan"], { cwd: dirs["web-shop"] });
  await world.serve();
  const loops = {};
  const start = async (project, name, goal, settings) => { loops[name] = await world.api("POST", "/api/loops", { project: dirs[project], goal, name, settings }); return loops[name]; };
  const over = async (...words) => { const loop = await start(...words); await world.stopped(loop.id); return loop; };
  const until = async (type, ...words) => { const loop = await start(...words); await world.until(loop.id, (item) => item.type === type); return loop; };

  // Verified, some of them merged.
  await over("web-shop", "search-words", "Search finds every word of a note, whatever is between the words", { agent: "careful", gates: [TEST], budget_usd: 5, max_iterations: 10 });
  for (const [project, name, goal] of [["web-shop", "cart-totals", "The cart shows totals with tax in every country"], ["billing", "round-half-even", "Amounts are rounded half to even, everywhere"], ["importer", "read-utf16", "The importer reads files in UTF-16 with a byte order mark"], ["mobile-app", "dark-mode", "Every screen follows the system's dark mode"], ["infrastructure", "pin-versions", "Every provider has a pinned version"], ["handbook", "changelog", "The changelog names every release since 1.0"]]) {
    await over(project, name, goal, { agent: "quick", gates: ["test -f CHANGES.md", "git diff --check HEAD~1"], budget_usd: 2 });
  }
  // Claimed, unchanged, refined, audited.
  await over("handbook", "claims-only", "The style guide is easier to read", { agent: "quick" });
  await over("importer", "nothing-to-do", "No file is read twice", { agent: "idle", gates: ["true"] });
  await over("handbook", "polish-wording", "Every page of the handbook is short and friendly", { agent: "silent", recipe: "refine", max_iterations: 4 });
  await over("billing", "audited-tax", "Tax is computed from the rate of the day", { agent: "quick", reviewer: "clean", recipe: "audited", gates: ["test -f CHANGES.md"] });
  // Limits, no progress, failures.
  await over("handbook", "handbook-links", "All links in the handbook answer", { agent: "stubborn", gates: [LINKS], max_iterations: 3, budget_usd: 3 });
  await over("billing", "budget-spent", "The ledger balances after every import", { agent: "stubborn", gates: ["false"], max_iterations: 20, budget_usd: 0.3 });
  await over("mobile-app", "stands-still", "The app starts in under a second", { agent: "idle", gates: ["echo 'start: 1840 ms, wanted: 1000 ms'; false"], max_iterations: 8 });
  await over("mobile-app", "agent-broken", "Port the settings screen to the new navigation", { agent: "broken", gates: ["true"] });
  await over("infrastructure", "setup-fails", "The plan shows no drift", { agent: "quick", setup: ["echo 'terraform: command not found'; exit 127"], gates: ["true"] });
  await over("web-shop", "open-findings", "Search ignores accents", { agent: "careful", reviewer: "picky", recipe: "audited", gates: ["node --check src/search.js"], max_iterations: 2 });
  const stopped = await until("text", "infrastructure", "stopped-by-hand", "Move the state to the new bucket", { agent: "worker" });
  await world.api("POST", `/api/loops/${stopped.id}/stop`, {});
  await world.stopped(stopped.id);
  // Need a person.
  await until("loop_paused", "web-shop", "prices-with-tax", "Prices are shown with tax in every country", { agent: "careful", reviewer: "clean", recipe: "audited", human_review: true, gates: [TEST, "node --check src/search.js"], budget_usd: 4 });
  await until("loop_paused", "billing", "refunds", "A refund never exceeds what was paid", { agent: "quick", reviewer: "clean", recipe: "audited", human_review: true, gates: ["test -f CHANGES.md"] });
  await until("loop_paused", "mobile-app", "not-logged-in", "Push messages open the right screen", { agent: "logged-out" });
  await until("loop_paused", "importer", "raise-the-limit", "Imports of a million rows end within a minute", { agent: "stubborn", gates: ["echo '1 000 000 rows: 94 s'; false"], max_iterations: 2, on_limit: "pause" });
  const paused = await until("text", "handbook", "paused-by-hand", "Translate the handbook into German", { agent: "worker" });
  await world.api("POST", `/api/loops/${paused.id}/pause`, { now: true });
  await world.until(paused.id, (item) => item.type === "loop_paused");
  // A merge that would break the target.
  await over("infrastructure", "red-merge", "The module has an example", { agent: "quick", gates: ["test ! -f BROKEN"] });
  writeFileSync(join(dirs.infrastructure, "BROKEN"), "yes\n");
  execFileSync("git", ["add", "-A"], { cwd: dirs.infrastructure });
  execFileSync("git", ["commit", "-q", "-m", "break it"], { cwd: dirs.infrastructure });
  await world.api("POST", `/api/loops/${loops["red-merge"].id}/merge`, {}).catch(() => {});
  // More of the usual, so that the list is long.
  for (let number = 1; number <= 9; number += 1) await over(Object.keys(REPOSITORIES)[number % 6], `chore-${number}`, ["Update the dependencies and fix what breaks", "Every public function has a doc comment", "The build has no warnings"][number % 3], { agent: number % 4 ? "quick" : "stubborn", gates: [number % 4 ? "true" : "echo 'warning: unused import'; false"], max_iterations: 2 });
  // At work, waiting.
  await until("wait_started", "importer", "new-api", "Port the importer to the new API", { agent: "limited", budget_usd: 10 });
  for (const [project, name, goal] of [["web-shop", "export-columns", "The export has a column for each currency"], ["billing", "invoices-pdf", "Invoices can be saved as PDF/A"], ["mobile-app", "offline-first", "The app works without a network and syncs later"]]) {
    const loop = await start(project, name, goal, { agent: "worker", reviewer: "clean", recipe: name === "invoices-pdf" ? "audited" : "promise", ...(name === "invoices-pdf" ? {} : { reviewer: undefined }), gates: ["npm test", "npm run lint"], budget_usd: 3, max_iterations: 12, duration: "2h" });
    await world.until(loop.id, (item) => item.type === "text" && /case 14/.test(item.text));
  }
  // Later: right after its end a loop is still being cleaned up.
  for (const name of ["changelog", "dark-mode", "read-utf16"]) await world.api("POST", `/api/loops/${loops[name].id}/merge`, {});
  // Milestones.
  const milestone = (id, title, goal, features, criteria, more = {}) => world.api("POST", "/api/milestones", { project: dirs["web-shop"], id, title, goal, features, criteria, ...more });
  await milestone("search", "Search", "Find notes by text", ["F1: a search box (acceptance: it has the focus)", "F2: results while typing"], ["all tests pass", "a search takes less than 50 ms"]);
  await milestone("export", "Export", "Take the data along", ["F1: CSV (acceptance: opens in a spreadsheet)"], ["all tests pass"], { human_review: true });
  await milestone("accounts", "Accounts", "Sign in with a passkey", ["F1: register (acceptance: works in Safari)", "F2: sign in", "F3: recover"], ["no password is stored"]);
  return { loops, dirs };
}
