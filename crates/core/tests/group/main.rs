//! Groups, driven without an engine.

mod tries;
