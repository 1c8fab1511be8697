import { describe, expect, it } from "vitest";
import { clear, clearly, withoutInvisible } from "./clear";

describe("texts of others", () => {
  it("a mark that turns the direction is seen, not obeyed", () => {
    expect(clear("photo\u202egpj.exe")).toBe("photo\ufffdgpj.exe");
    expect(withoutInvisible("photo\u202egpj.exe")).toBe("photogpj.exe");
  });
  it("escapes are gone, controls are seen, lines and tabs stay, other scripts stay as they are", () => {
    expect(clear("a\u001b[31mb\u0007\r\n\tc")).toBe("ab\ufffd\r\n\tc");
    expect(clear("\u001b]0;never closed\nnext line")).toBe("\nnext line");
    expect(clear("שלום 你好 👩‍🚀")).toBe("שלום 你好 👩‍🚀");
  });
  it("reaches every text of an answer", () => {
    expect(JSON.parse(JSON.stringify({ goal: "x\u2066y", files: [{ path: "a\u202eb" }], n: 1 }), clearly)).toEqual({ goal: "x\ufffdy", files: [{ path: "a\ufffdb" }], n: 1 });
  });
});
