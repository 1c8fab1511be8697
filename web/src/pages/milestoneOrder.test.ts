import { describe, expect, it } from "vitest";
import { reordered } from "./milestoneOrder";

describe("the order of milestones", () => {
  const all = ["done", "a", "running", "b", "c"];
  const movable = ["a", "b", "c"];
  it("puts one in the place of another and keeps those that have begun", () => {
    expect(reordered(all, movable, "c", "a")).toEqual(["done", "c", "running", "a", "b"]);
    expect(reordered(all, movable, "a", "b")).toEqual(["done", "b", "running", "a", "c"]);
    expect(reordered(all, movable, "a", "c")).toEqual(["done", "b", "running", "c", "a"]);
  });
  it("changes nothing for one that cannot move, or for itself", () => {
    expect(reordered(all, movable, "done", "a")).toEqual(all);
    expect(reordered(all, movable, "a", "a")).toEqual(all);
  });
});
