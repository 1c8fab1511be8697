//! Limits raised when a loop resumes. `+5` and `5` both add to the current limit.

use clap::Args;
use windlass_core::machine::Raise;
use windlass_engine::config::{Iterations, Millis, Size, Tokens, Usd, Value, ValueError};

#[derive(Debug, Clone, Default, Args)]
pub struct RaiseArgs {
    /// Allow N more iterations
    #[arg(long, value_name = "+N", value_parser = iterations, allow_negative_numbers = true, help_heading = "Raise limits")]
    max_iterations: Option<u32>,
    /// Allow more time, such as +30m
    #[arg(long, value_name = "+D", value_parser = more::<Millis>, allow_negative_numbers = true, help_heading = "Raise limits")]
    duration: Option<Millis>,
    /// Allow X more US dollars
    #[arg(long, value_name = "+X", value_parser = more::<Usd>, allow_negative_numbers = true, help_heading = "Raise limits")]
    budget_usd: Option<Usd>,
    /// Allow N more tokens
    #[arg(long, value_name = "+N", value_parser = more::<Tokens>, allow_negative_numbers = true, help_heading = "Raise limits")]
    max_tokens: Option<Tokens>,
    /// Allow more disk space, such as +5GiB
    #[arg(long, value_name = "+SIZE", value_parser = more::<Size>, allow_negative_numbers = true, help_heading = "Raise limits")]
    disk_limit: Option<Size>,
}

impl RaiseArgs {
    pub fn raise(&self) -> Raise {
        Raise {
            max_iterations: self.max_iterations.unwrap_or(0),
            duration_ms: self.duration.map_or(0, Millis::get),
            budget_usd: self.budget_usd.map_or(0.0, Usd::get),
            max_tokens: self.max_tokens.map_or(0, Tokens::get),
            disk_bytes: self.disk_limit.and_then(Size::get).unwrap_or(0),
        }
    }
}

fn more<T: Value>(text: &str) -> Result<T, ValueError> {
    T::from_text(text.strip_prefix('+').unwrap_or(text))
}

fn iterations(text: &str) -> Result<u32, ValueError> {
    more::<Iterations>(text)?.get().ok_or_else(|| ValueError {
        problem: "0 more iterations do not raise the limit".to_owned(),
        hint: Some("give 1 to 100".into()),
    })
}
