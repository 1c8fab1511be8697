//! The machine, driven as the engine drives it: what each input decides, and what holds for all sequences of them.

mod audited;
mod driven;
mod event_json;
mod exhaustive;
mod failures;
mod fallbacks;
mod hidden_gates;
mod journals;
mod limits;
mod milestone;
mod milestone_people;
mod moved;
mod people;
mod promise_loop;
mod prompts;
mod properties;
mod questions;
mod recovery;
mod reviewed_prompts;
mod reviewed_properties;
mod rollback;
mod transition_places;
mod transition_table;
mod walk;
