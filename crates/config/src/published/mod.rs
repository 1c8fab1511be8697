//! What other programs read: the JSON Schemas and the TypeScript types of settings and profiles.

pub(crate) mod schema;
pub(crate) mod typescript;
