// Builds the dashboard and puts it where the Rust build takes it from: crates/server/dashboard, each file compressed,
// with a list of the files and a digest of the sources they were built from. The Rust build runs no npm.
//
//   node scripts/pack.mjs           build and write
//   node scripts/pack.mjs --check   build, write nothing, fail if what is there differs
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { fileURLToPath } from "node:url";

const web = fileURLToPath(new URL("..", import.meta.url));
const target = join(web, "../crates/server/dashboard");
// What the build reads. A test in crates/server computes the same digest.
const SOURCES = ["index.html", "package-lock.json", "package.json", "public", "src", "tsconfig.json", "vite.config.ts"];

const files = (path) => (statSync(path).isDirectory() ? readdirSync(path).flatMap((name) => files(join(path, name))) : [path]);
const byName = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

function digestOfSources() {
  const digest = createHash("sha256");
  const names = SOURCES.flatMap((name) => files(join(web, name))).map((path) => relative(web, path)).sort(byName);
  for (const name of names) {
    digest.update(`${name}\0${createHash("sha256").update(readFileSync(join(web, name))).digest("hex")}\n`);
  }
  return digest.digest("hex");
}

function built() {
  const dist = mkdtempSync(join(tmpdir(), "windlass-dashboard-"));
  try {
    execFileSync("npm", ["run", "--silent", "build"], { cwd: web, env: { ...process.env, WINDLASS_WEB_OUT: dist }, stdio: ["ignore", 2, 2] });
    const names = files(dist).map((path) => relative(dist, path)).filter((name) => !name.startsWith(".") && !name.endsWith(".map"));
    return new Map(names.sort(byName).map((name) => [name, readFileSync(join(dist, name))]));
  } finally {
    rmSync(dist, { recursive: true, force: true });
  }
}

function list(names) {
  const rows = names.map((name) => `    (${JSON.stringify(name)}, include_bytes!(${JSON.stringify(`${name}.gz`)})),\n`);
  return `//! The dashboard's files, each compressed with gzip. Written by \`npm run pack\` in \`web/\`.\n\npub(crate) static FILES: &[(&str, &[u8])] = &[\n${rows.join("")}];\n`;
}

const made = built();
if (process.argv.includes("--check")) {
  const there = new Map(files(target).filter((path) => path.endsWith(".gz")).map((path) => [relative(target, path).slice(0, -3), gunzipSync(readFileSync(path))]));
  const names = [...new Set([...made.keys(), ...there.keys()])].sort(byName);
  const other = names.filter((name) => !made.has(name) || !there.has(name) || !made.get(name).equals(there.get(name)));
  if (other.length) {
    console.error(`crates/server/dashboard is not what web/ builds: ${other.join(", ")}\nrun: npm run pack`);
    process.exit(1);
  }
  console.log(`crates/server/dashboard holds what web/ builds: ${names.length} files`);
} else {
  rmSync(target, { recursive: true, force: true });
  let sum = 0;
  for (const [name, bytes] of made) {
    const packed = gzipSync(bytes, { level: 9 });
    mkdirSync(dirname(join(target, name)), { recursive: true });
    writeFileSync(join(target, `${name}.gz`), packed);
    sum += packed.length;
  }
  writeFileSync(join(target, "files.rs"), list([...made.keys()]));
  writeFileSync(join(target, "sources.sha256"), `${digestOfSources()}\n`);
  console.log(`${made.size} files, ${(sum / 1000).toFixed(0)} KB compressed`);
}
