// Uses the types that openapi-typescript made, with openapi-fetch, against a real server: what does not fit them does not compile.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const web = resolve(import.meta.dirname, "../web");
const place = mkdtempSync(join(tmpdir(), "windlass-client-"));
try {
  execFileSync("npm", ["install", "--silent", "--no-audit", "--no-fund", "--prefix", place, "openapi-fetch@0.17", "typescript@5.9"], { stdio: "inherit" });
  symlinkSync(join(web, "src/api/schema.ts"), join(place, "schema.ts"));
  writeFileSync(join(place, "use.ts"), `
import createClient from "openapi-fetch";
import type { paths } from "./schema.js";
const client = createClient<paths>({ baseUrl: process.env["WINDLASS_API"]!, headers: { Authorization: "Bearer " + process.env["WINDLASS_TOKEN"] } });
declare const process: { env: Record<string, string | undefined> };
const { data } = await client.GET("/api/loops", { params: { query: { limit: 10 } } });
const { error } = await client.GET("/api/loops/{id}", { params: { path: { id: "none" } } });
const { data: report } = await client.GET("/api/report", {});
console.log(JSON.stringify([data?.loops.length, error?.error.code, report?.total.loops]));
`);
  writeFileSync(join(place, "tsconfig.json"), JSON.stringify({ compilerOptions: { target: "es2022", module: "nodenext", moduleResolution: "nodenext", strict: true, skipLibCheck: true, outDir: "out", preserveSymlinks: true }, files: ["use.ts"] }));
  writeFileSync(join(place, "package.json"), JSON.stringify({ type: "module", dependencies: {} }));
  execFileSync(join(place, "node_modules/.bin/tsc"), ["-p", place], { stdio: "inherit" });
  const said = execFileSync(process.execPath, [join(place, "out/use.js")], { encoding: "utf8" });
  assert.deepEqual(JSON.parse(said), [0, "not_found", 0]);
  console.log("typescript client: ok");
} finally {
  rmSync(place, { recursive: true, force: true });
}
