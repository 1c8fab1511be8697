// Server-sent events over fetch: unlike EventSource it tells a lost server from a refused login, and reading slowly
// slows the server down instead of filling this page's memory.

import { authorization, forget } from "./session";

export interface SseEvent {
  id: string;
  event: string;
  data: string;
}

/** Bytes come in any pieces; whole events go out. */
export class SseParser {
  private rest = "";
  private id = "";
  private event = "";
  private data: string[] = [];

  push(chunk: string): SseEvent[] {
    const out: SseEvent[] = [];
    const text = this.rest + chunk;
    let at = 0;
    for (;;) {
      const end = text.indexOf("\n", at);
      if (end < 0) break;
      this.line(text.slice(at, text[end - 1] === "\r" && end > at ? end - 1 : end), out);
      at = end + 1;
    }
    this.rest = text.slice(at);
    return out;
  }

  private line(line: string, out: SseEvent[]) {
    if (line === "") {
      if (this.data.length > 0) out.push({ id: this.id, event: this.event || "message", data: this.data.join("\n") });
      this.data = [];
      this.event = "";
      return;
    }
    if (line.startsWith(":")) return;
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "data") this.data.push(value);
    else if (field === "event") this.event = value;
    else if (field === "id" && !value.includes("\0")) this.id = value;
  }
}

export type Connection = "connecting" | "open" | "lost" | "denied" | "hidden";

export interface StreamOptions {
  url: string;
  onEvents: (events: SseEvent[]) => void;
  onState: (state: Connection) => void;
}

/** No byte for so long, heartbeats included: the connection is dead although nobody said so. */
const SILENCE_MS = 60_000;
/** A page that nobody sees gives its connection back (browsers have six per server) and takes up where it was. */
const HIDDEN_MS = 10_000;

/** Reads until closed; goes on by itself after the last event that came, however often the server goes away. */
export function openStream(options: StreamOptions): () => void {
  let closed = false;
  let last = "";
  let failures = 0;
  let abort = new AbortController();
  let wake: () => void = () => {};
  let hiddenTimer: ReturnType<typeof setTimeout> | undefined;

  const sleep = (ms: number) =>
    new Promise<void>((done) => {
      const timer = setTimeout(done, ms);
      wake = () => {
        clearTimeout(timer);
        done();
      };
    });

  const visible = () => {
    clearTimeout(hiddenTimer);
    if (document.hidden) {
      hiddenTimer = setTimeout(() => abort.abort(), HIDDEN_MS);
    } else {
      failures = 0;
      wake();
    }
  };
  document.addEventListener("visibilitychange", visible);
  window.addEventListener("online", visible);

  const read = async () => {
    abort = new AbortController();
    options.onState("connecting");
    const login = authorization();
    const headers: Record<string, string> = { Accept: "text/event-stream", ...login };
    if (last) headers["Last-Event-ID"] = last;
    let silence: ReturnType<typeof setTimeout> | undefined;
    const heard = () => {
      clearTimeout(silence);
      silence = setTimeout(() => abort.abort(), SILENCE_MS);
    };
    try {
      heard();
      const response = await fetch(options.url, { headers, signal: abort.signal, cache: "no-store", credentials: "omit" });
      if (response.status === 401) forget(login);
      if (response.status === 401 || response.status === 403) return "denied" as const;
      if (!response.ok || !response.body) return "lost" as const;
      options.onState("open");
      const parser = new SseParser();
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return "lost" as const;
        heard();
        const events = parser.push(value);
        if (events.length === 0) continue;
        failures = 0;
        last = events.at(-1)?.id || last;
        options.onEvents(events);
      }
    } finally {
      clearTimeout(silence);
    }
  };

  const run = async () => {
    while (!closed) {
      let outcome: Connection = "lost";
      try {
        outcome = await read();
      } catch {
        // Aborted, refused or cut: all mean that we try again.
      }
      if (closed) return;
      if (document.hidden && outcome !== "denied") {
        options.onState("hidden");
        await sleep(3_600_000);
        continue;
      }
      options.onState(outcome);
      failures += 1;
      await sleep(outcome === "denied" ? 15_000 : Math.min(10_000, 250 * 2 ** Math.min(failures, 6)));
    }
  };
  void run();

  return () => {
    closed = true;
    clearTimeout(hiddenTimer);
    document.removeEventListener("visibilitychange", visible);
    window.removeEventListener("online", visible);
    abort.abort();
    wake();
  };
}
