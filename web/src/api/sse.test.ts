import { describe, expect, it } from "vitest";
import { SseParser } from "./sse";

const STREAM = ': hello\n\nid: 1\nevent: item\ndata: {"a":1}\n\nid: 2\r\ndata: two\r\ndata: lines\r\n\r\ndata:no space\n\nretry: 10\n\n';
const EVENTS = [
  { id: "1", event: "item", data: '{"a":1}' },
  { id: "2", event: "message", data: "two\nlines" },
  { id: "2", event: "message", data: "no space" },
];

describe("server-sent events", () => {
  it("are the same however the bytes are cut", () => {
    for (let size = 1; size <= STREAM.length; size += 1) {
      const parser = new SseParser();
      const out = [];
      for (let at = 0; at < STREAM.length; at += size) out.push(...parser.push(STREAM.slice(at, at + size)));
      expect(out).toEqual(EVENTS);
    }
  });
  it("an unfinished event is not handed out", () => {
    const parser = new SseParser();
    expect(parser.push("data: half\n")).toEqual([]);
    expect(parser.push("\n")).toEqual([{ id: "", event: "message", data: "half" }]);
  });
});
