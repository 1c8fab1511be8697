//! Types in the program: only tests describe them.

use schemars::JsonSchema;

#[derive(Debug, Clone, Copy)]
pub(super) struct Described;

#[allow(clippy::extra_unused_type_parameters, reason = "tests use it")]
pub(super) fn type_of<T: JsonSchema>() -> Described {
    Described
}
