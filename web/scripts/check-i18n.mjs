// Every language has every text, with the same placeholders; every text that the code asks for exists.
import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
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
// What the server says and what settings are for: every other language has words for all of it.
const sentences = JSON.parse(readFileSync(join(root, "../schemas/messages.json"), "utf8"));
const settings = JSON.parse(readFileSync(join(root, "../schemas/config.schema.json"), "utf8")).properties;
const places = (text) => [...new Set([...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1]))].sort().join(",");
for (const file of files.filter((name) => name !== "en.json")) {
  const words = JSON.parse(readFileSync(join(root, "src/i18n/server", file), "utf8"));
  for (const [id, text] of Object.entries(sentences)) {
    if (!words.messages[id]?.trim()) faults.push(`server/${file}: messages.${id} is missing`);
    else if (places(words.messages[id]) !== places(text)) faults.push(`server/${file}: messages.${id} has other places than English`);
  }
  for (const id of Object.keys(words.messages)) if (!(id in sentences)) faults.push(`server/${file}: messages.${id} is not in schemas/messages.json`);
  for (const key of Object.keys(settings)) if (!words.settings[key]?.trim()) faults.push(`server/${file}: settings.${key} is missing`);
  for (const key of Object.keys(words.settings)) if (!(key in settings)) faults.push(`server/${file}: settings.${key} is not a setting`);
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
