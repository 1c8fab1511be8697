import { describe, expect, it } from "vitest";
import { raiseBody, raiseOf } from "./raise";

describe("raising a limit", () => {
  it("raises the limit that was reached, whether the loop stopped or paused at it", () => {
    expect(raiseOf({ stop_reason: { type: "budget", limit_usd: 3, spent_usd: 3.1 } })).toEqual({ limit: "budget", by: 3 });
    expect(raiseOf({ pause: { type: "limit", limit: { type: "duration", limit_ms: 600_000 } } })).toEqual({ limit: "duration", by: 10 });
    expect(raiseOf({ stop_reason: { type: "max_iterations", max: 2 } })).toEqual({ limit: "max_iterations", by: 5 });
  });
  it("asks for nothing if no limit was reached", () => {
    expect(raiseOf({ stop_reason: { type: "cancelled" } })).toEqual({ limit: "max_iterations", by: 0 });
    expect(raiseBody("budget", 0)).toEqual({});
    expect(raiseBody("duration", 10)).toEqual({ raise: { duration_ms: 600_000 } });
  });
});
