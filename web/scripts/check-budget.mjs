// What the first page loads as script: at most 200 KB gzipped.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const LIMIT = 200 * 1000;
const dist = process.env.WINDLASS_WEB_OUT ?? new URL("../dist", import.meta.url).pathname;
const manifest = JSON.parse(readFileSync(join(dist, ".vite/manifest.json"), "utf8"));
const first = new Set();
const visit = (key) => {
  const chunk = manifest[key];
  if (!chunk || first.has(chunk.file)) return;
  first.add(chunk.file);
  for (const next of chunk.imports ?? []) visit(next);
};
visit("index.html");
let sum = 0;
for (const file of first) {
  const size = gzipSync(readFileSync(join(dist, file)), { level: 9 }).length;
  sum += size;
  console.log(`${(size / 1000).toFixed(1).padStart(8)} KB  ${file}`);
}
console.log(`${(sum / 1000).toFixed(1).padStart(8)} KB  initial JS, gzipped (limit ${LIMIT / 1000} KB)`);
if (sum > LIMIT) {
  console.error("the first page loads too much: split something off with a dynamic import");
  process.exit(1);
}
