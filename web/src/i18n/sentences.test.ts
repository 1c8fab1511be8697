import { expect, test } from "vitest";
import sentences from "../../../schemas/messages.json";
import hant from "./server/zh-Hant.json";
import { placed, reader } from "./sentences";

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
