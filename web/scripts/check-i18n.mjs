// Every language has every text, with the same placeholders; every text that the code asks for exists.
import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

const root = new URL("..", import.meta.url).pathname;
const folder = join(root, "src/i18n/locales");
const flat = (value, path = "", out = new Map()) => {
  for (const [key, inner] of Object.entries(value)) {
    const name = path ? `${path}.${key}` : key;
    if (typeof inner === "string") out.set(name, inner);
    else flat(inner, name, out);
  }
  return out;
};
const placeholders = (text) => [...text.matchAll(/\{\{\s*(\w+)[^}]*\}\}/g)].map((match) => match[1]).sort().join(",");
const files = readdirSync(folder).filter((name) => name.endsWith(".json"));
const texts = new Map(files.map((name) => [name, flat(JSON.parse(readFileSync(join(folder, name), "utf8")))]));
const english = texts.get("en.json");
const faults = [];
for (const [file, map] of texts) {
  for (const [key, text] of english) {
    const base = key.replace(/_(one|other)$/, "");
    const there = map.get(key) ?? (key.endsWith("_one") ? map.get(`${base}_other`) : undefined);
    if (there === undefined) faults.push(`${file}: ${key} is missing`);
    else if (!there.trim()) faults.push(`${file}: ${key} is empty`);
    else if (placeholders(there) !== placeholders(text) && !key.endsWith("_one")) faults.push(`${file}: ${key} has other placeholders than English`);
  }
  for (const key of map.keys()) if (!english.has(key)) faults.push(`${file}: ${key} is not in en.json`);
}
const sources = (dir) => readdirSync(dir).flatMap((name) => {
  const path = join(dir, name);
  return statSync(path).isDirectory() ? sources(path) : /\.tsx?$/.test(name) && !/\.test\.ts$/.test(name) ? [path] : [];
});
const used = new Set();
const prefixes = new Set();
for (const path of sources(join(root, "src"))) {
  const text = readFileSync(path, "utf8");
  for (const match of text.matchAll(/\bt\(\s*"([\w.]+)"/g)) used.add(match[1]);
  for (const match of text.matchAll(/"((?:[a-z_]+\.)+[a-z_0-9]+)"/g)) if (english.has(match[1]) || english.has(`${match[1]}_other`)) used.add(match[1]);
  for (const match of text.matchAll(/`((?:[a-z_]+\.)+[a-z_]*)\$\{/g)) prefixes.add(match[1]);
}
for (const key of used) if (!english.has(key) && !english.has(`${key}_other`)) faults.push(`en.json: ${key} is used and missing`);
for (const key of english.keys()) {
  const base = key.replace(/_(one|other)$/, "");
  if (!used.has(key) && !used.has(base) && ![...prefixes].some((prefix) => key.startsWith(prefix))) faults.push(`en.json: ${key} is used nowhere`);
}
if (faults.length) {
  console.error(faults.join("\n"));
  process.exit(1);
}
console.log(`i18n: ${english.size} texts in ${files.length} languages`);
