// A world of its own for each test file: home, repository, agents, a real server, a real browser.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { isDeepStrictEqual } from "node:util";
import { chromium } from "playwright-core";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
export const BIN = resolve(process.env.WINDLASS_BIN ?? join(here, "../../target/debug/windlass"));
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";

/** A build to be tried without putting it into the binary first; it gets the policy that the server sends. */
const DIST = process.env.WINDLASS_WEB_DIST ? resolve(process.env.WINDLASS_WEB_DIST) : undefined;
const POLICY = "default-src 'self'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'";
const TYPES = { ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".html": "text/html" };
function fromDist(url) {
  const path = new URL(url).pathname;
  const file = /\.\w+$/.test(path) ? join(DIST, path) : join(DIST, "index.html");
  // The page of the binary asks for its own files until ours is loaded.
  if (!existsSync(file)) return undefined;
  return { path: file, contentType: TYPES[/\.\w+$/.exec(file)[0]], headers: { "content-security-policy": POLICY } };
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe finds on a page as it is now. */
export async function violations(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] }));
  return found.violations.map((violation) => `${violation.id}: ${violation.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 160)} ${node.any[0]?.message ?? ""}`).join(" | ")}`);
}

/** What every agent's program begins with: it speaks neutral events and can be held by the test. */
const PRELUDE = `
import { appendFileSync, existsSync, mkdirSync, watch, writeFileSync } from "node:fs";
import { dirname } from "node:path";
const WORLD = DIRECTORY;
const event = (value) => new Promise((done) => process.stdout.write(JSON.stringify(value) + "\\n", done));
const say = (text) => event({ type: "text", text: text + "\\n" });
const usage = (input, output, cost, model = "scripted") => event({ type: "usage", model, input_tokens: input, output_tokens: output, cost_usd: cost, messages: 1 });
const write = (path, text) => { mkdirSync(dirname(path), { recursive: true }); writeFileSync(path, text); };
const append = (path, text) => { mkdirSync(dirname(path), { recursive: true }); appendFileSync(path, text); };
const held = (name) => new Promise((go) => { const path = WORLD + "/" + name; if (existsSync(path)) return go(); const eyes = watch(WORLD, () => { if (existsSync(path)) { eyes.close(); go(); } }); if (existsSync(path)) { eyes.close(); go(); } });
const iteration = Number(/[^0-9](\\d+)\\.[a-z]+\\.\\d+$/.exec("." + (process.env.WINDLASS_TURN ?? ""))?.[1] ?? 1);
const DONE = "<promise>COMPLETE</promise>";
let prompt = ""; for await (const part of process.stdin) prompt += part;
await event({ type: "session", id: "s" });
`;

export class World {
  constructor() {
    this.dir = realpathSync(mkdtempSync(join(tmpdir(), "windlass-web-")));
    this.home = join(this.dir, "home");
    this.config = join(this.dir, "config.toml");
    this.repo = join(this.dir, "shop");
    writeFileSync(this.config, "# my own words\n");
    this.children = new Set();
    // Who is stopped leaves no server behind; agents end with it.
    for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => { for (const child of this.children) child.kill("SIGKILL"); process.exit(1); });
    this.repository("shop", { "README.md": "a shop\n" });
  }

  /** A git repository with these files. */
  repository(name, files) {
    const dir = join(this.dir, name);
    const git = (...words) => execFileSync("git", words, { cwd: dir, stdio: "ignore" });
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(dir, path)), { recursive: true });
      writeFileSync(join(dir, path), text);
    }
    git("init", "-q", "-b", "main");
    git("config", "user.name", "Test");
    git("config", "user.email", "test@example.com");
    git("add", "-A");
    git("commit", "-q", "-m", "start");
    return dir;
  }

  get env() {
    const outer = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("WINDLASS_")));
    return { ...outer, WINDLASS_HOME: this.home, WINDLASS_CONFIG: this.config, WINDLASS_SANDBOX: "off", HOME: this.dir, LANG: "C.UTF-8" };
  }

  /** An agent whose program is this; it is then one of the profiles. */
  agent(name, program) {
    const file = join(this.dir, `${name}.mjs`);
    writeFileSync(file, PRELUDE.replace("DIRECTORY", JSON.stringify(this.dir)) + program);
    this.profile(name, [process.execPath, file]);
  }

  /** Any command that speaks neutral events. */
  profile(name, command) {
    writeFileSync(this.config, `${readFileSync(this.config, "utf8")}\n[agents.${name}]\ncommand = ${JSON.stringify(command)}\noutput = "jsonl"\n`);
  }

  /** Settings of the user, in front of the profiles. */
  top(text) {
    writeFileSync(this.config, text + readFileSync(this.config, "utf8"));
  }

  /** Lets agents on that are held by this name. */
  go(name) {
    writeFileSync(join(this.dir, name), "");
  }

  start(words, options = {}) {
    const child = spawn(BIN, words, { cwd: this.repo, env: this.env, stdio: ["ignore", "pipe", "inherit"], ...options });
    this.children.add(child);
    child.gone = new Promise((done) => child.once("exit", (code, signal) => { this.children.delete(child); done({ code, signal }); }));
    return child;
  }

  /** Starts the server and waits until it says where it listens. */
  async serve(port = 0) {
    if (!existsSync(BIN)) throw new Error(`${BIN} is not there: build it, or say where with WINDLASS_BIN`);
    const free = port || (await freePort());
    const child = this.start(["serve", "--port", String(free)]);
    this.server = child;
    const lines = createInterface({ input: child.stdout });
    this.link = await new Promise((found, failed) => {
      lines.on("line", (line) => { const link = /https?:\/\/\S+#code=\S+/.exec(line)?.[0]; if (link) found(link); });
      child.once("exit", (code) => failed(new Error(`serve ended with ${code}`)));
    });
    this.origin = new URL(this.link).origin;
    this.token = readFileSync(join(this.home, "server.token"), "utf8");
    return this.origin;
  }

  /** Runs a command to its end. */
  call(...words) {
    return execFileSync(BIN, words, { cwd: this.repo, env: this.env, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  }

  /** A link that logs one browser in. */
  newLink() {
    return this.call("serve", "link").trim();
  }

  async api(method, path, body) {
    // A connection of its own each time: a kept one may have been closed by the server just when it is used again.
    const response = await fetch(this.origin + path, { method, headers: { Connection: "close", Authorization: `Bearer ${this.token}`, ...(body ? { "Content-Type": "application/json" } : {}) }, body: body ? JSON.stringify(body) : undefined });
    const text = await response.text();
    const value = text ? JSON.parse(text) : undefined;
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return value;
  }

  /** A loop over the API. */
  loop(goal, settings, more = {}) {
    return this.api("POST", "/api/loops", { project: this.repo, goal, settings, ...more });
  }

  /** Reads the loop's stream until an item fits. */
  async until(id, fits, query = "") {
    const stop = new AbortController();
    const response = await fetch(`${this.origin}/api/loops/${id}/events${query}`, { headers: { Authorization: `Bearer ${this.token}` }, signal: stop.signal });
    let rest = "";
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop();
      for (const line of lines) {
        if (!line.startsWith("data: ")) continue;
        const item = JSON.parse(line.slice(6));
        if (fits(item)) { stop.abort(); return item; }
      }
    }
    throw new Error("the stream ended");
  }

  stopped(id) {
    return this.until(id, (item) => item.type === "loop_stopped", "?tail=4");
  }

  async browser(options = {}) {
    this.chromium ??= await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu", "--js-flags=--expose-gc"] });
    const context = await this.chromium.newContext({ viewport: { width: 1280, height: 800 }, locale: "en", ...options });
    context.setDefaultTimeout(30_000);
    if (DIST) await context.route((url) => url.origin === this.origin && !url.pathname.startsWith("/api"), (route) => { const answer = fromDist(route.request().url()); return answer ? route.fulfill(answer) : route.continue(); });
    return context;
  }

  /** A page that is logged in; what it complains about is kept. */
  async page(options = {}) {
    const context = await this.browser(options);
    const page = await context.newPage();
    page.complaints = [];
    page.on("pageerror", (error) => page.complaints.push(String(error)));
    page.on("console", (message) => { if (message.type() === "error" && !/Failed to load resource/.test(message.text())) page.complaints.push(message.text()); });
    await page.goto(this.newLink());
    await page.waitForFunction(() => window.localStorage.getItem("windlass.session") !== null);
    return page;
  }

  async end() {
    await this.chromium?.close();
    for (const child of [...this.children]) {
      child.kill("SIGTERM");
      const late = setTimeout(() => child.kill("SIGKILL"), 10_000);
      await child.gone;
      clearTimeout(late);
    }
    if (!process.env.WINDLASS_TEST_KEEP) rmSync(this.dir, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function freePort() {
  const { createServer } = await import("node:net");
  return new Promise((done) => { const server = createServer(); server.listen(0, "127.0.0.1", () => { const { port } = server.address(); server.close(() => done(port)); }); });
}

export const REVIEW = (value) => `await say("\`\`\`windlass-review\\n" + ${JSON.stringify(JSON.stringify(value))} + "\\n\`\`\`");\n`;

/** Reads until what is read is as wanted, or matches it: a page shows a change a moment after its cause, and one look would be a race. */
export async function becomes(read, wanted, why) {
  const fits = (seen) => (wanted instanceof RegExp ? wanted.test(seen) : isDeepStrictEqual(seen, wanted));
  const until = Date.now() + 30_000;
  let seen = await read();
  while (!fits(seen) && Date.now() < until) {
    await new Promise((again) => setTimeout(again, 20));
    seen = await read();
  }
  if (wanted instanceof RegExp) assert.match(seen, wanted, why);
  else assert.deepEqual(seen, wanted, why);
}

/** The address has these words after the question mark, once the page has put them there. */
export const searches = (page, wanted) => becomes(() => new URL(page.url()).search, wanted);
