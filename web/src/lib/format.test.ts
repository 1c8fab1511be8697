import { describe, expect, it } from "vitest";
import { ago, baseName, bytes, countdown, duration, money, moment, short } from "./format";

describe("figures", () => {
  it("durations", () => {
    expect([0, 950, 9_999, 61_000, 3_660_000, 90_000_000, 60_000, 7_200_000].map(duration)).toEqual(["0.0s", "0.9s", "9.9s", "1m 1s", "1h 1m", "1d 1h", "1m", "2h"]);
    expect([Number.NaN, -5, Infinity].map(duration)).toEqual(["0s", "0s", "0s"]);
  });
  it("countdowns never go below zero", () => {
    expect([3_723_000, 59_001, -1].map(countdown)).toEqual(["1:02:03", "01:00", "00:00"]);
  });
  it("money keeps small sums visible", () => {
    expect([0, 0.004, 1.239, 12].map(money)).toEqual(["$0.00", "$0.0040", "$1.24", "$12.00"]);
  });
  it("sizes", () => {
    expect([0, 999, 1000, 200_000_000].map(bytes)).toEqual(["0 B", "999 B", "1.0 KB", "200 MB"]);
    expect([999, 1500, 25_000, 2_500_000].map(short)).toEqual(["999", "1.5k", "25k", "2.5M"]);
  });
  it("times that cannot be read are empty, not NaN", () => {
    expect(ago("no time", 0, "en")).toBe("");
    expect(ago(null, 0, "en")).toBe("");
    expect(moment("", "en")).toBe("");
    expect(ago("1970-01-01T00:00:00Z", 7_200_000, "en")).toBe("2h ago");
    expect(ago("1970-01-01T00:00:01Z", 0, "en")).toBe(ago("1970-01-01T00:00:00Z", 0, "en"));
  });
  it("names of paths", () => {
    expect([baseName("/a/b/"), baseName("x"), baseName("")]).toEqual(["b", "x", ""]);
  });
});
