// All script that the first page loads, with the words of its language: at most 200 KB gzipped in every language.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { fileURLToPath } from "node:url";

const LIMIT = 200 * 1000;
const dist = process.env.WINDLASS_WEB_OUT || fileURLToPath(new URL("../dist", import.meta.url));
const manifest = JSON.parse(readFileSync(join(dist, ".vite/manifest.json"), "utf8"));

/** The files of these entries, with all that they import at once. */
function filesOf(keys) {
  const files = new Set();
  const visit = (key) => {
    const chunk = manifest[key];
    if (!chunk) throw new Error(`the build has no ${key}: the budget would miss it`);
    if (files.has(chunk.file)) return;
    files.add(chunk.file);
    for (const next of chunk.imports ?? []) visit(next);
  };
  keys.forEach(visit);
  // Scripts of the page that are no modules.
  const html = readFileSync(join(dist, "index.html"), "utf8");
  for (const [, file] of html.matchAll(/<script[^>]* src="\/([^"]+)"/g)) files.add(file);
  return [...files];
}

const sizeOf = (file) => gzipSync(readFileSync(join(dist, file)), { level: 9 }).length;
const kilobytes = (bytes) => `${(bytes / 1000).toFixed(1).padStart(8)} KB`;
const locales = readdirSync(new URL("../src/i18n/locales", import.meta.url)).map((name) => name.replace(".json", ""));
const translated = readdirSync(new URL("../src/i18n/server", import.meta.url)).map((name) => name.replace(".json", ""));

for (const file of filesOf(["index.html"])) console.log(`${kilobytes(sizeOf(file))}  ${file}`);
let tooMuch = false;
for (const language of locales) {
  // As `src/i18n` loads them before anything is shown.
  const words = [`src/i18n/locales/${language}.json`, ...(translated.includes(language) ? [`src/i18n/server/${language}.json`, "../schemas/messages.json"] : [])];
  const sum = filesOf(["index.html", ...words]).reduce((total, file) => total + sizeOf(file), 0);
  console.log(`${kilobytes(sum)}  initial JS in ${language}, gzipped (limit ${LIMIT / 1000} KB)`);
  tooMuch ||= sum > LIMIT;
}
if (tooMuch) {
  console.error("the first page loads too much: split something off with a dynamic import");
  process.exit(1);
}
