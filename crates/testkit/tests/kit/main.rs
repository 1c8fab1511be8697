//! The test kit itself: its scripted agent, its scripted model, its worlds, and that the real CLIs accept them.

mod agent_clis;
mod client;
mod leftovers;
mod model_clis;
mod model_protocols;
mod model_recordings;
mod scripted_agent;
mod turns;
mod world;
