import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { authorization, codeIn, forget, hasSession, logIn, loginRefusal, logOut } from "./session";

const CODE = "0123456789abcdef0123456789abcdef";
const answers = (status: number, body: unknown) => vi.fn<typeof fetch>(() => Promise.resolve(new Response(JSON.stringify(body), { status })));

beforeEach(() => vi.stubGlobal("fetch", answers(200, { id: "1", name: "n", secret: "s3cret" })));
afterEach(async () => {
  await logOut();
  vi.unstubAllGlobals();
});

describe("a session", () => {
  it("is opened by a code and sent as a header, never as a cookie", async () => {
    expect(authorization()).toEqual({});
    expect(await logIn(CODE)).toBe(true);
    expect(authorization()).toEqual({ Authorization: "Bearer s3cret" });
    const [path, init] = vi.mocked(fetch).mock.calls[0] ?? [];
    expect(path).toBe("/api/login");
    expect(init?.credentials).toBe("omit");
  });
  it("stays as it was when a link is refused, which is said", async () => {
    await logIn(CODE);
    vi.stubGlobal("fetch", answers(401, { error: { message: "already used" } }));
    expect(await logIn(CODE)).toBe(false);
    expect([loginRefusal(), hasSession()]).toEqual(["already used", true]);
  });
  it("is forgotten when the server refuses it, but not when it refuses an older one", async () => {
    await logIn(CODE);
    forget({ Authorization: "Bearer older" });
    expect(hasSession()).toBe(true);
    forget(authorization());
    expect(hasSession()).toBe(false);
  });
  it("ends here even when the server is away", async () => {
    await logIn(CODE);
    vi.stubGlobal("fetch", vi.fn<typeof fetch>(() => Promise.reject(new Error("away"))));
    await logOut();
    expect(hasSession()).toBe(false);
  });
});

describe("a code", () => {
  it("is found in a link or alone, and nowhere else", () => {
    expect(codeIn(`http://127.0.0.1:4747/#code=${CODE}`)).toBe(CODE);
    expect(codeIn(` ${CODE}\n`)).toBe(CODE);
    for (const text of ["", "#main", "hello", "http://127.0.0.1:4747/", "#code="]) expect(codeIn(text)).toBe(null);
  });
});
