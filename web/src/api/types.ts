// Names for the server's types. All of them come from its own document (`npm run types`); nothing is mirrored by hand.

import type { components } from "./schema";

type Schemas = components["schemas"];

export type LoopView = Schemas["LoopView"];
export type LoopSummary = Schemas["LoopSummary"];
export type LoopList = Schemas["LoopList"];
export type GateView = Schemas["GateView"];
export type Usage = Schemas["Usage"];
export type TurnKey = Schemas["TurnKey"];
export type TurnView = Schemas["TurnView"];
export type Timeline = Schemas["Timeline"];
export type DiffView = Schemas["DiffView"];
export type FileDiff = Schemas["FileDiff"];
export type FindingsView = Schemas["FindingsView"];
export type PlanView = Schemas["PlanView"];
export type Problem = Schemas["Problem"];
export type ProjectView = Schemas["ProjectView"];
export type ServerView = Schemas["ServerView"];
export type SettingsView = Schemas["SettingsView"];
export type Preview = Schemas["Preview"];
/** What may be left out may be left out. */
export type StartLoop = Pick<Schemas["StartLoop"], "project" | "goal"> & Partial<Schemas["StartLoop"]>;
export type MilestoneBoard = Schemas["MilestoneBoard"];
export type FeedPage = Omit<Schemas["FeedPage"], "items"> & { items: (FeedItem & { cursor: string })[] };

type Entry = Schemas["FeedEntry"];
/** The members that are told apart by a constant tag; the document has two more whose tag is a plain string. */
type Tagged<Item> = Item extends { type: infer Name } ? (string extends Name ? never : Item) : never;
type Head = Pick<Extract<Entry, { seq: number }>, "seq" | "at">;
type Stderr = Extract<Entry, { text: string; turn: TurnKey }> & { type: "stderr" };
type Skipped = Extract<Entry, { bytes: number }> & { type: "output_skipped" };
type Body = Tagged<Entry> | Stderr | Skipped;

export type FeedItem = Body extends infer One ? (One extends unknown ? Head & One : never) : never;
