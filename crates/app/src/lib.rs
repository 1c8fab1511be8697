//! All use cases of Windlass.
//!
//! Every use case is a request with its report, and runs here (`Local`) or on a server (`Remote`). No face of Windlass
//! (command line, HTTP, tools for agents) has use cases of its own: each makes requests and shows reports. Nothing here
//! prints, parses a command line or speaks HTTP.

pub mod agents;
mod attempts;
mod context;
pub mod diff;
pub mod doctor;
mod forge;
mod groups;
mod history;
mod listing;
mod local;
mod loops;
mod milestones;
mod minimise;
mod places;
mod problem;
mod project;
mod proof;
mod report;
mod reports;
mod request;
mod requests;
mod settings;
mod start;
mod takeover;
mod trust;
mod views;
pub mod words;
mod work;

use start::{open, plan_rows};

pub use agents::{AddAgent, AddedAgent};
pub use attempts::{ChangeSize, CompareLoops, Compared, ComparedLoop, Difference, ForkLoop};
pub use context::{Context, refuse_agents};
pub use diff::{IterationSize, LoopSizes};
pub use doctor::{Honesty, HonestyReport, TestHonesty};
pub use forge::{IssueOf, IssueView, OpenPull, PullReport, Tool};
pub use groups::{
    AddGoal, AddGoals, AddedGoals, AnyView, FindGroup, FoundGroup, GroupList, ListGroups, ListQueue, MoveGoal,
    OpenedQueue, OpenedTries, RemoveGoal, ResumeGroup, ShowGroup, StartTries, StopGroup,
};
pub use history::*;
pub use listing::{DrainWorker, LISTED_AS, ListFleetQueue, ListWorkers};
pub use local::{Background, Local, Opened};
pub use loops::*;
pub use minimise::{DroppedHunk, MinimiseLoop, MinimiseReport, MinimiseStep, MinimiseSteps, StepsReport, Why};
pub use places::{App, Changes, LoopFeed, Remote, RemoteChanges, RemoteFeed};
pub use plan_rows::{fork_words, plan_rows};
pub use problem::{Coded, CodedProblem, ErrorBody, Kind, Problem};
pub use project::{Found, FoundLine, InitProject, InitReport};
pub use proof::*;
pub use report::{
    ChangedLines, Document, LoopReport, OutcomeRow, OutcomesReport, ReportLoop, ReportOutcomes, ReportRow, ReportUsage,
    UsageReport,
};
pub use reports::*;
pub use request::{Opens, Request};
pub use requests::*;
pub use settings::{CheckRecipes, PromptView, RecipeFault, RecipeOf, RecipeRow, RecipeValue, RecipeView, RecipesOf};
pub use takeover::TakeOver;
pub use trust::agree_to_no_sandbox;
pub use views::*;
pub use work::{BroughtIn, MergesReport, OpenedMerges, QueueMerges, ShowMerges, StopMerges, WorkMerges};
