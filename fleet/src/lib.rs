//! The journal of a fleet: the store of `windlass-store` in PostgreSQL, where loops of many machines have their truth.

mod store;

pub use store::{FORMAT, PgStore, Worker};
