//! Groups, driven without an engine.

mod queue;
mod tries;
