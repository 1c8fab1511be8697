// One way to talk to the server. A refusal is a `Refusal` with the server's own words.

import { clearly } from "../lib/clear";
import { authorization, forget } from "./session";
import type { Problem } from "./types";

export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly problem: Problem,
  ) {
    super(problem.message);
  }
}

/** The server cannot be reached: not an answer, but none. */
export class Unreachable extends Error {}

export const isMissing = (error: unknown) => error instanceof Refusal && error.status === 404;
export const isUnauthorised = (error: unknown) => error instanceof Refusal && error.status === 401;

async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  const login = authorization();
  try {
    response = await fetch(path, { ...init, headers: { ...(init.headers as Record<string, string>), ...login }, cache: "no-store", credentials: "omit" });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new Unreachable();
  }
  if (response.ok) return response;
  if (response.status === 401) forget(login);
  let problem: Problem = { code: "failed", message: `${response.status} ${response.statusText}`, hint: null, field: null, causes: [], details: null, message_code: null, hint_code: null };
  try {
    problem = (JSON.parse(await response.text(), clearly) as { error: Problem }).error ?? problem;
  } catch {
    // Not the server's own answer; the status has to do.
  }
  throw new Refusal(response.status, problem);
}

/** What is got is shown: its texts are clear. */
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return JSON.parse(await (await ask(path, { signal: signal ?? null })).text(), clearly) as T;
}

/** What is got may be written back, or has escapes of its own to be read: its texts are as they are. */
export async function getExact<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await ask(path, { signal: signal ?? null })).json() as Promise<T>;
}

export async function getText(path: string, signal?: AbortSignal): Promise<string> {
  return (await ask(path, { signal: signal ?? null })).text();
}

export async function getBytes(path: string, signal?: AbortSignal): Promise<{ bytes: Uint8Array; total: number | undefined }> {
  const response = await ask(path, { signal: signal ?? null });
  const total = /\/(\d+)$/.exec(response.headers.get("Content-Range") ?? "")?.[1];
  return { bytes: new Uint8Array(await response.arrayBuffer()), total: total === undefined ? undefined : Number(total) };
}

/** What comes, as it comes; whoever stops reading ends it. */
export async function* getStream(path: string, signal: AbortSignal): AsyncGenerator<string> {
  const reader = (await ask(path, { signal })).body?.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const part = await reader?.read();
      if (!part || part.done) return;
      yield part.value;
    }
  } finally {
    void reader?.cancel();
  }
}

export async function send<T>(method: "POST" | "PUT", path: string, body: unknown = {}): Promise<T> {
  const response = await ask(path, { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  const text = await response.text();
  return (text ? JSON.parse(text, clearly) : undefined) as T;
}

/** Has the browser save a file. A link carries no header, so a ticket that works once stands in for it. */
export async function download(path: string): Promise<void> {
  const ticket = await send<{ path: string }>("POST", "/api/tickets", { path });
  const link = document.createElement("a");
  link.href = ticket.path;
  link.download = "";
  link.click();
}

export function query(parts: Record<string, string | number | undefined | null>): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(parts)) if (value !== undefined && value !== null && value !== "") search.set(key, String(value));
  const text = search.toString();
  return text ? `?${text}` : "";
}
