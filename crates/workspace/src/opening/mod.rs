//! A workspace's life: how it is made, opened again, put back to an earlier state, and removed.

pub(crate) mod attach;
pub(crate) mod clone;
pub(crate) mod create;
pub(crate) mod owner;
pub(crate) mod remove;
pub(crate) mod reopen;
pub(crate) mod restore;
