//! Commands about work that is planned: milestones, and the queue of goals.

mod milestone;
mod queue;

pub use milestone::{AddArgs, MilestoneArgs, MilestoneCommand, StartArgs};
pub use queue::{QueueAddArgs, QueueArgs, QueueCommand, QueueMoveArgs};
