//! 

pub mod store;
