//! Hints for the user if a gate may have failed because Windlass withheld an environment variable from it.

use windlass_core::machine::GateReport;
use windlass_engine::environment::{Variables, withheld};

#[derive(Debug, Default)]
pub(super) struct Hints {
    env: Variables,
    withheld: Vec<String>,
    told: bool,
}

impl Hints {
    pub(super) fn of(env: Variables) -> Self {
        Self { env, ..Self::default() }
    }

    /// Starts a loop that passes these variables.
    pub(super) fn begin(&mut self, env_pass: &[String]) {
        self.withheld = withheld(&self.env, env_pass);
    }

    /// Returns the hint once, and only if the gate's output mentions a withheld variable.
    pub(super) fn after(&mut self, report: &GateReport) -> Option<String> {
        if report.verdict.passed() || self.told {
            return None;
        }
        let name = self.withheld.iter().find(|name| names(&report.output_tail, name))?;
        self.told = true;
        Some(format!("Windlass does not pass {name} to gates; pass it with --env-pass {name}"))
    }
}

/// Whether the text contains this name as a whole word.
fn names(text: &str, name: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| !text[..at].ends_with(part) && !text[at + name.len()..].starts_with(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_word_of_its_own() {
        assert!(names("error: DATABASE_URL must be set", "DATABASE_URL"));
        assert!(!names("TEST_DATABASE_URL is set", "DATABASE_URL"));
        assert!(!names("DATABASE_URLS", "DATABASE_URL"));
    }
}
