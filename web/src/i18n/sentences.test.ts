import { expect, test } from "vitest";
import sentences from "../../../schemas/messages.json";
import hant from "./server/zh-Hant.json";
import { partsOf, placed, reader } from "./sentences";

const read = reader(sentences);

test("a_sentence_is_found_with_its_values", () => {
  expect(read("unknown agent 'codx'")).toEqual({ id: "agent_unknown", params: { name: "codx" } });
  expect(read("search: npm test failed on the merge into main; merge aborted")).toEqual({ id: "merge_red", params: { name: "search", gate: "npm test", target: "main" } });
});

test("the_sentence_with_more_fixed_words_wins", () => {
  expect(read("/x already exists and is not this loop's workspace")?.id).toBe("directory_in_the_way");
  expect(read("the loop is already running")?.id).toBe("already_running");
});

test("every_sentence_is_found_as_itself", () => {
  for (const [id, text] of Object.entries(sentences)) {
    const values = text.replace(/\{(\w+)\}/g, "7");
    expect(read(values)?.id, values).toBe(id);
  }
});

test("a_value_that_is_a_sentence_is_put_into_words_too", () => {
  const inner = (text: string) => (read(text) ? (hant.messages as Record<string, string>)[read(text)?.id ?? ""] ?? text : text);
  const coded = read("'budget_usd' must be an amount of US dollars");
  expect(placed((hant.messages as Record<string, string>)[coded?.id ?? ""] ?? "", coded?.params ?? {}, inner)).toBe("「budget_usd」必須是美元金額");
});

test("a_comma_in_brackets_is_part_of_its_part", () => {
  const parts = partsOf("memory 8 GiB (watched, not enforced), processes 4096 (PID namespace), 1 GiB of disk space kept free");
  expect(parts.map((part) => read(part))).toEqual([
    { id: "preview_memory", params: { size: "8 GiB", holder: "watched, not enforced" } },
    { id: "preview_processes", params: { count: "4096", holder: "PID namespace" } },
    { id: "preview_free", params: { size: "1 GiB" } },
  ]);
  const inner = (text: string) => (hant.messages as Record<string, string>)[read(text)?.id ?? ""] ?? text;
  expect(placed(hant.messages.preview_memory, { size: "8 GiB", holder: "watched, not enforced" }, inner)).toBe("記憶體 8 GiB（只監看，不強制）");
});
