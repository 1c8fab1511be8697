import type { LoopSummary } from "../api/types";
import { describe, expect, it } from "vitest";
import { chosenAgent, choicesOf, emptyForm, recipeChoices, requestOf, triesOf, usualAgent, formOf, withLine } from "./newLoop";

describe("a new loop", () => {
  it("sends only what was said", () => {
    expect(requestOf({ ...emptyForm(), goal: "fix it" }, "/repo")).toEqual({ project: "/repo", goal: "fix it", settings: {} });
  });
  it("gates are lines, a limit counts only when it is switched on, an own command is no agent's name", () => {
    const form = { ...emptyForm(), goal: "g", gates: " cargo test \n\nmake lint\n", maxIterations: 9, agent: "!command", agentCommand: "./a.sh", budget: "2.5" };
    expect(requestOf(form, "/repo")).toEqual({ project: "/repo", goal: "g", agent_command: "./a.sh", settings: { gates: ["cargo test", "make lint"], budget_usd: 2.5 } });
    expect(requestOf({ ...form, limitIterations: true }, "/repo").settings).toMatchObject({ max_iterations: 9 });
  });
  it("a reviewer is sent only where somebody reviews", () => {
    const form = { ...emptyForm(), goal: "g", reviewer: "codex", humanReview: true };
    expect(requestOf(form, "/r").settings).toEqual({});
    expect(requestOf({ ...form, recipe: "audited", reviewed: true }, "/r").settings).toEqual({ recipe: "audited", reviewer: "codex", human_review: true });
  });
});

describe("best of N", () => {
  const form = { ...emptyForm(), goal: "g", tries: 3, first: true };
  it("names no agent if all tries have the loop's own", () => {
    expect(triesOf(form, requestOf(form, "/r"), "claude")).toEqual({ run: { project: "/r", goal: "g", settings: {} }, agents: [], tries: 3, first: true, losers: "keep" });
  });
  it("names one for each try as soon as one differs; the form's model stays with its own agent", () => {
    const mixed = { ...form, agent: "claude", model: "opus", losers: "drop" as const, tryChoices: [{ agent: "", model: "" }, { agent: "codex", model: "" }, { agent: "codex", model: "o3" }] };
    const started = triesOf(mixed, requestOf(mixed, "/r"), "claude");
    expect(started.agents).toEqual(["claude:opus", "codex", "codex:o3"]);
    expect(started.run?.settings).toEqual({ agent: "claude" });
    expect(started.losers).toBe("drop");
  });
  it("has one choice for each try, and never works in the checkout", () => {
    expect(choicesOf({ tries: 2, tryChoices: [{ agent: "a", model: "" }] })).toEqual([{ agent: "a", model: "" }, { agent: "", model: "" }]);
    expect(requestOf({ ...form, inPlace: true }, "/r").settings).toEqual({});
    expect(requestOf({ ...form, tries: 1, inPlace: true }, "/r").settings).toEqual({ in_place: true });
  });
});

describe("the agent of a new loop", () => {
  const custom = { name: "mine", usual: false };
  const claude = { name: "claude", usual: true };
  it("is what the settings name, or what the server takes if nobody chooses", () => {
    expect(usualAgent("mine", [claude])).toBe("mine");
    expect(usualAgent(null, [custom, claude])).toBe("claude");
    expect(chosenAgent({ agent: "" }, "claude", [custom, claude])).toBe("");
  });
  it("is one that exists where only custom profiles do", () => {
    expect(usualAgent(undefined, [custom])).toBeUndefined();
    expect(chosenAgent({ agent: "" }, undefined, [custom])).toBe("mine");
    expect(chosenAgent({ agent: "" }, undefined, [])).toBe("!command");
    expect(chosenAgent({ agent: "other" }, undefined, [custom])).toBe("other");
  });
});

describe("a loop of before", () => {
  const loop = (more: object = {}) => ({ goal: "Fix it", recipe: "audited", agent: "codex", review: { reviewer: "claude" }, gates: [{ command: "cargo test" }, { command: "secret", hidden: true }], limits: { max_iterations: 8, budget_usd: 2, duration_ms: 3_600_000 }, branch: "b", iterations: 1, ...more }) as unknown as LoopSummary;
  it("fills the form, without hidden gates and without agents that are gone", () => {
    expect(formOf(loop(), [{ name: "codex" }])).toEqual({ goal: "Fix it", recipe: "audited", reviewed: true, agent: "codex", reviewer: "", gates: "cargo test", limitIterations: true, maxIterations: 8, budget: "2", duration: "60m", inPlace: false });
    expect(formOf(loop({ recipe: "own", limits: {} }), [])).toMatchObject({ recipe: "own", agent: "", budget: "", duration: "" });
  });
  it("a found line is added once, below the others", () => {
    expect(withLine("cargo test\n\n", "cargo clippy")).toBe("cargo test\ncargo clippy");
  });
});

describe("recipes to choose from", () => {
  const row = (name: string, more: object = {}) => ({ name, about: name, source: "built_in", extends: null, hidden: false, fault: null, ...more });
  it("are those that can be used, the user's own too; one that extends a reviewed one is reviewed", () => {
    const rows = [row("promise"), row("audited"), row("milestone"), row("strict", { source: "user", extends: "audited" }), row("stricter", { source: "project", extends: "strict" }), row("broken", { fault: { problem: "x", hint: "y" } }), row("promise", { hidden: true })];
    expect(recipeChoices(rows).map(({ name, own, reviewed }) => [name, own, reviewed])).toEqual([["promise", false, false], ["audited", false, true], ["strict", true, true], ["stricter", true, true]]);
  });
  it("a fallback is sent as the list that the setting is", () => {
    expect(requestOf({ ...emptyForm(), goal: "g", fallback: "codex" }, "/r").settings).toEqual({ fallbacks: ["codex"] });
  });
});
