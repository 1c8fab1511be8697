//! The flag of a setting, for `windlass run`.

/// Headings in the help of `windlass run`.
pub(super) const AGENT: &str = "Agent";
pub(super) const DONE: &str = "When it is done";
pub(super) const LIMITS: &str = "Limits";
pub(super) const WORKSPACE: &str = "Workspace";

/// How a setting is given on the command line.
#[derive(Debug, Clone, Copy)]
pub struct Flag {
    /// With its dashes; the key's name with dashes if unset.
    pub name: Option<&'static str>,
    pub takes: Takes,
    /// What stands for the value in the help.
    pub value_name: Option<&'static str>,
    pub heading: &'static str,
    /// The setting's own words if unset. The default is added.
    pub help: Option<&'static str>,
    /// Flags that make no sense with it, by the names of their keys or arguments.
    pub conflicts: &'static [&'static str],
    pub completes: Option<Completes>,
}

/// What a flag takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// One value.
    Value,
    /// One item of a list; the flag can be repeated.
    Items,
    /// Nothing: it says this.
    Nothing(bool),
}

/// What a shell can complete its value with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completes {
    Agents,
    Recipes,
}

impl Flag {
    const fn new(takes: Takes, heading: &'static str) -> Self {
        Self { name: None, takes, value_name: None, heading, help: None, conflicts: &[], completes: None }
    }

    pub(super) const fn value(name: &'static str, heading: &'static str) -> Self {
        Self { value_name: Some(name), ..Self::new(Takes::Value, heading) }
    }

    pub(super) const fn each(name: &'static str, heading: &'static str) -> Self {
        Self { value_name: Some(name), ..Self::new(Takes::Items, heading) }
    }

    pub(super) const fn on(heading: &'static str) -> Self {
        Self::new(Takes::Nothing(true), heading)
    }

    pub(super) const fn off(heading: &'static str) -> Self {
        Self::new(Takes::Nothing(false), heading)
    }

    pub(super) const fn named(self, name: &'static str) -> Self {
        Self { name: Some(name), ..self }
    }

    pub(super) const fn help(self, help: &'static str) -> Self {
        Self { help: Some(help), ..self }
    }

    pub(super) const fn conflicts(self, conflicts: &'static [&'static str]) -> Self {
        Self { conflicts, ..self }
    }

    pub(super) const fn completes(self, completes: Completes) -> Self {
        Self { completes: Some(completes), ..self }
    }
}
