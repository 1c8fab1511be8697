// What a page on another port of the same machine can do: an agent can start a server of its own there, and cookies,
// "same site" and everything else that does not know ports treat it as one of us.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { World, becomes } from "./world.mjs";

const world = new World();
/** The hostile server, and what browsers sent to it. */
let hostile;
const seen = [];
before(async () => {
  world.agent("talker", `await say("the secret output"); await say(DONE);`);
  await world.serve();
  hostile = createServer((request, response) => {
    seen.push({ path: request.url, headers: request.headers });
    response.setHeader("Content-Type", "text/html");
    response.end("<!doctype html><title>hostile</title><body>");
  });
  await new Promise((done) => hostile.listen(0, "127.0.0.1", done));
});
after(async () => {
  hostile.closeAllConnections();
  await new Promise((done) => hostile.close(done));
  await world.end();
});
const hostileOrigin = () => `http://127.0.0.1:${hostile.address().port}`;

test("the login link: used once, gone from the address, kept for this origin, and refused the second time", async () => {
  const link = world.newLink();
  const context = await world.browser();
  const page = await context.newPage();
  await page.goto(link);
  await page.getByText("No loops yet").waitFor();
  await becomes(() => page.url(), `${world.origin}/`);
  assert.deepEqual(await context.cookies(), [], "no cookie is set");
  await page.reload();
  await page.locator("[data-connection=open]").waitFor();
  const other = await world.browser();
  const late = await other.newPage();
  await late.goto(link);
  await late.getByText("already used or has expired").waitFor();
  await late.getByLabel("Login link").fill(world.newLink());
  await late.getByRole("button", { name: "Log in" }).click();
  await late.locator("[data-connection=open]").waitFor();
  assert.equal(JSON.parse(world.call("serve", "sessions", "--json")).length, 2);
  await context.close();
  await other.close();
});

test("a link opened in a tab that shows the page already logs it in", async () => {
  const context = await world.browser();
  const page = await context.newPage();
  await page.goto(world.origin);
  await page.getByText("This browser is not logged in").waitFor();
  await page.evaluate((link) => { window.location.href = link; }, world.newLink());
  await page.locator("[data-connection=open]").waitFor();
  await context.close();
});

test("log out ends the session here and on the server; a revoked session shows how to get in", async () => {
  world.call("serve", "logout");
  const page = await world.page();
  await page.locator("[data-connection=open]").waitFor();
  await page.getByRole("button", { name: "Theme and language" }).click();
  await page.getByRole("menuitem", { name: "Log out" }).click();
  await page.getByText("This browser is not logged in").waitFor();
  await becomes(() => JSON.parse(world.call("serve", "sessions", "--json")), []);
  await becomes(() => page.evaluate(() => localStorage.getItem("windlass.session")), null);
  await page.context().close();
  const other = await world.page();
  await other.locator("[data-connection=open]").waitFor();
  world.call("serve", "logout");
  await other.reload();
  await other.getByText("This browser is not logged in").waitFor();
  await other.context().close();
});

test("a transcript is downloaded with a ticket that works once", async () => {
  const loop = await world.loop("Talk", { agent: "talker" }, { name: "talk" });
  await world.stopped(loop.id);
  const page = await world.page();
  await page.goto(`${world.origin}/loops/${loop.id}?tab=raw`);
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download" }).click();
  const download = await saved;
  const parts = [];
  for await (const part of await download.createReadStream()) parts.push(part);
  assert.match(Buffer.concat(parts).toString(), /the secret output/);
  assert.equal((await fetch(download.url())).status, 401, "a copy of the address is of no use");
  await page.context().close();
});

test("a hostile page on another port sees nothing, and nothing that it sends is obeyed", async () => {
  const page = await world.page();
  await page.locator("[data-connection=open]").waitFor();
  const secret = await page.evaluate(() => localStorage.getItem("windlass.session"));
  assert.ok(secret.length >= 64);
  const loops = async () => (await world.api("GET", "/api/loops")).loops.map((loop) => loop.name).sort();
  const before = await loops();
  seen.length = 0;
  const evil = await page.context().newPage();
  await evil.goto(hostileOrigin());
  // The hostile server reads everything that the browser sent to it; the page everything that it is allowed to.
  assert.ok(seen.length > 0);
  assert.ok(!JSON.stringify(seen).includes(secret) && seen.every(({ headers }) => !headers.cookie && !headers.authorization));
  assert.deepEqual(await evil.evaluate(() => [document.cookie, Object.keys(localStorage), Object.keys(window.sessionStorage)]), ["", [], []]);
  assert.deepEqual(await evil.evaluate(async () => (await window.indexedDB.databases()).map((one) => one.name)), []);

  let sent = 0;
  evil.on("request", (request) => { if (new URL(request.url()).origin === world.origin) sent += 1; });
  const start = { project: world.repo, goal: "pwned", name: "pwned", settings: { agent: "talker", sandbox: "off" } };
  const outcome = await evil.evaluate(async ({ origin, start, port }) => {
    const tried = {};
    const attempt = async (name, work) => { try { tried[name] = await work(); } catch (error) { tried[name] = `refused: ${error.name}`; } };
    for (const path of ["/api/loops", "/api/health", "/api/events", "/"]) {
      await attempt(`read ${path}`, async () => (await (await fetch(origin + path, { credentials: "include" })).text()).length);
    }
    const plain = { method: "POST", mode: "no-cors", credentials: "include", body: JSON.stringify(start) };
    await attempt("no-cors json", async () => (await fetch(`${origin}/api/loops`, { ...plain, headers: { "Content-Type": "text/plain" } })).type);
    await attempt("no-cors login", async () => (await fetch(`${origin}/api/login`, { ...plain, body: JSON.stringify({ code: "00" }) })).type);
    await attempt("cors json", async () => (await fetch(`${origin}/api/loops`, { method: "POST", credentials: "include", headers: { "Content-Type": "application/json", Authorization: "Bearer x" }, body: JSON.stringify(start) })).status);
    await attempt("beacon", async () => { window.navigator.sendBeacon(`${origin}/api/loops`, new window.Blob([JSON.stringify(start)], { type: "text/plain" })); return "sent"; });
    const loads = (tag, url, on = "onload") => new Promise((done) => { const one = document.createElement(tag); one[on] = () => done("loaded"); one.onerror = () => done("refused"); one.src = url; document.body.append(one); });
    await attempt("img", () => loads("img", `${origin}/favicon.svg`));
    await attempt("script", () => loads("script", `${origin}/api/loops`));
    await attempt("websocket", () => new Promise((done) => { const socket = new window.WebSocket(`ws://127.0.0.1:${port}/api/events`); socket.onopen = () => done("opened"); socket.onerror = () => done("refused"); }));
    await attempt("eventsource", () => new Promise((done) => { const source = new window.EventSource(`${origin}/api/events`, { withCredentials: true }); source.onopen = () => done("opened"); source.onerror = () => { source.close(); done("refused"); }; }));
    await attempt("worker", () => new Promise((done) => { const worker = new window.Worker(`${origin}/`); worker.onerror = () => done("refused"); worker.onmessage = () => done("ran"); }));
    await attempt("iframe", async () => { const frame = document.createElement("iframe"); frame.src = `${origin}/`; const loaded = new Promise((done) => { frame.onload = done; }); document.body.append(frame); await loaded; return String(frame.contentWindow.localStorage?.length); });
    // The page cuts its opener off, which looks like a closed window from here.
    await attempt("popup", async () => { const popup = window.open(`${origin}/`, "_blank"); while (popup && !popup.closed) { void popup.document.title; await new Promise((done) => setTimeout(done)); } return "refused: cut off"; });
    return tried;
  }, { origin: world.origin, start, port: new URL(world.origin).port });
  for (const [name, result] of Object.entries(outcome)) {
    assert.ok(/^refused|^blocked$|^opaque$|^sent$/.test(String(result)), `${name}: ${result}`);
  }
  // A form is a navigation, which browsers let every page make.
  for (const [action, enctype] of [["/api/loops", "text/plain"], ["/api/loops/talk/stop", "application/x-www-form-urlencoded"], ["/api/logout", "multipart/form-data"]]) {
    const sender = await page.context().newPage();
    await sender.goto(hostileOrigin());
    const answered = sender.waitForResponse((response) => response.url() === world.origin + action);
    await sender.evaluate(({ url, enctype, text }) => { const form = document.createElement("form"); form.method = "POST"; form.action = url; form.enctype = enctype; const field = document.createElement("input"); field.name = text.slice(0, -1); field.value = "}"; form.append(field); document.body.append(form); form.submit(); }, { url: world.origin + action, enctype, text: JSON.stringify(start) });
    assert.equal((await answered).status(), 403, action);
    await sender.close();
  }
  await evil.goto(hostileOrigin());
  const followed = await evil.goto(`${world.origin}/api/loops`, { referer: hostileOrigin() }).then((response) => response.status());
  assert.equal(followed, 401, "an address that is typed has no session either");
  assert.ok(sent >= 10, `its requests were sent: ${sent}`);
  assert.deepEqual(await loops(), before, "nothing was started");
  await page.bringToFront();
  await page.reload();
  await page.locator("[data-connection=open]").waitFor();
  assert.equal(await page.evaluate(() => localStorage.getItem("windlass.session")), secret, "the user stays logged in");
  await page.context().close();
});

test("the name localhost, behind which a hostile server could have the other address, keeps no session", async () => {
  const context = await world.browser();
  const page = await context.newPage();
  const port = new URL(world.origin).port;
  await page.goto(world.newLink().replace("127.0.0.1", "localhost"));
  await page.locator("[data-connection=open]").waitFor();
  await becomes(() => page.url(), `http://127.0.0.1:${port}/`);
  await context.close();
});
