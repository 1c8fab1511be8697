//! Loops of many machines: the store of `windlass-store` in PostgreSQL, and workers that drive what it holds.

mod archive;
pub mod desk;
mod dispatch;
pub mod doctor;
mod metrics;
mod output;
mod station;
mod store;
pub mod submit;
pub mod temporal;
pub mod trial;
pub mod worker;

pub use archive::Archive;
pub use dispatch::{Dispatch, PgDispatch};
pub use station::{FleetStation, Habits};
pub use store::{FORMAT, Fetched, PgStore, Piece, Placing, Worker};
