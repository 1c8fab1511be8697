// Names for the server's types. All of them come from its own document (`npm run types`); nothing is mirrored by hand.

import type { components } from "./schema";

type Schemas = components["schemas"];

export type Seen = Schemas["Seen"];
export type Demand = Schemas["Demand"];
export type LoopView = Schemas["LoopView"];
export type LoopSummary = Schemas["LoopSummary"];
export type LoopList = Schemas["LoopList"];
export type GateView = Schemas["GateView"];
export type WaitReason = Schemas["WaitReason"];
export type PauseReason = Schemas["PauseReason"];
export type Usage = Schemas["Usage"];
export type TurnKey = Schemas["TurnKey"];
export type TurnView = Schemas["TurnView"];
export type Timeline = Schemas["Timeline"];
export type DiffView = Schemas["DiffView"];
export type FileDiff = Schemas["FileDiff"];
export type FindingsView = Schemas["FindingsView"];
export type SectionSummary = Schemas["SectionSummary"];
export type PlanView = Schemas["PlanView"];
export type Problem = Schemas["Problem"];
export type ProjectView = Schemas["ProjectView"];
export type ServerView = Schemas["ServerView"];
export type SettingsView = Schemas["SettingsView"];
export type Preview = Schemas["Preview"];
export type StartLoop = Schemas["StartLoop"];
export type MilestoneBoard = Schemas["MilestoneBoard"];
export type MilestoneReport = Schemas["MilestoneReport"];
export type AgentReport = Schemas["AgentReport"];
export type DoctorReport = Schemas["DoctorReport"];
export type FeedItem = Schemas["FeedItem"];
export type FeedPage = Schemas["FeedPage"];
export type IterationView = Schemas["IterationView"];
export type Mark = Schemas["Mark"];
export type GateReport = Schemas["GateReport"];
export type RefusedBecause = Schemas["RefusedBecause"];
export type UsageReport = Schemas["UsageReport"];
export type ReportRow = Schemas["ReportRow"];
export type RecipeRow = Schemas["RecipeRow"];
export type InitReport = Schemas["InitReport"];
export type MergeReport = Schemas["MergeReport"];
export type TakeoverReport = Schemas["TakeoverReport"];
