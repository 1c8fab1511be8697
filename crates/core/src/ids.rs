//! Names of loops and turns.
//!
//! A turn's id is made from its key, so the same turn has the same id after every replay: commits, transcripts and
//! processes that carry it are found again.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A loop's id, chosen by whoever creates the loop (a UUID).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct LoopId(pub String);

impl fmt::Display for LoopId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A group's id, chosen by whoever creates it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct GroupId(pub String);

impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a group is for; the `kind` of its row in the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GroupKind {
    /// The same goal several times, of which the best is picked.
    Tries,
    /// Verified loops, merged onto one branch in order.
    Merges,
    /// Goals of all projects, worked off within limits.
    Queue,
}

impl GroupKind {
    pub const ALL: [GroupKind; 3] = [GroupKind::Tries, GroupKind::Merges, GroupKind::Queue];

    pub fn name(self) -> &'static str {
        match self {
            GroupKind::Tries => "tries",
            GroupKind::Merges => "merges",
            GroupKind::Queue => "queue",
        }
    }

    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// The group that a loop belongs to, as its specification has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Membership {
    pub id: GroupId,
    pub kind: GroupKind,
    pub name: String,
    /// Its number in the group, from 1.
    pub number: u32,
}

/// What an agent is appointed for in a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Coder,
    Auditor,
    Acceptor,
    Summariser,
    /// Writes the plan, before anybody works on it.
    Planner,
    /// Does what was requested after the work was accepted.
    Finisher,
}

impl Role {
    pub const ALL: [Role; 6] =
        [Role::Coder, Role::Auditor, Role::Acceptor, Role::Summariser, Role::Planner, Role::Finisher];

    pub fn name(self) -> &'static str {
        match self {
            Role::Coder => "coder",
            Role::Auditor => "auditor",
            Role::Acceptor => "acceptor",
            Role::Summariser => "summariser",
            Role::Planner => "planner",
            Role::Finisher => "finisher",
        }
    }

    /// The role whose agent it is: one agent plans, works and finishes.
    pub fn seat(self) -> Role {
        match self {
            Role::Coder | Role::Planner | Role::Finisher => Role::Coder,
            Role::Auditor | Role::Acceptor | Role::Summariser => self,
        }
    }

    /// Whether it only looks: what it changes in the tree is restored.
    pub fn only_reads(self) -> bool {
        match self {
            Role::Auditor | Role::Acceptor | Role::Planner | Role::Summariser => true,
            Role::Coder | Role::Finisher => false,
        }
    }

    /// Whether it judges the coder's work.
    pub fn reviews(self) -> bool {
        match self {
            Role::Auditor | Role::Acceptor => true,
            Role::Coder | Role::Summariser | Role::Planner | Role::Finisher => false,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Role::ALL.into_iter().find(|role| role.name() == text).ok_or_else(|| format!("unknown role `{text}`"))
    }
}

/// One request to an agent: which iteration, which role, which try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TurnKey {
    pub iteration: u32,
    pub role: Role,
    pub attempt: u32,
}

impl TurnKey {
    pub fn first(iteration: u32, role: Role) -> Self {
        Self { iteration, role, attempt: 1 }
    }

    #[must_use]
    pub fn next_attempt(self) -> Self {
        Self { attempt: self.attempt + 1, ..self }
    }

    /// The id that commits, transcripts and processes of this turn carry.
    pub fn id(self, loop_id: &LoopId) -> String {
        format!("{loop_id}.{self}")
    }
}

impl fmt::Display for TurnKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.iteration, self.role, self.attempt)
    }
}

impl FromStr for TurnKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || format!("`{text}` is not a turn; use ITERATION.ROLE.ATTEMPT, such as 1.coder.1");
        let mut parts = text.split('.');
        let (Some(iteration), Some(role), Some(attempt), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(wrong());
        };
        let number = |digits: &str| digits.parse().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit()));
        Ok(Self {
            iteration: number(iteration).ok_or_else(wrong)?,
            role: role.parse().map_err(|_| wrong())?,
            attempt: number(attempt).ok_or_else(wrong)?,
        })
    }
}

/// Whether a loop, a recipe or an agent may have this name: `a-z 0-9 - _`, not empty, at most 64 characters.
pub fn is_valid_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'))
        && !name.starts_with('-')
}

/// A name made of a goal's words; empty when the goal has no letter a name may carry.
pub fn slug(goal: &str) -> String {
    const LONGEST: usize = 40;
    let mut slug = String::new();
    for word in goal.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        let separator = usize::from(!slug.is_empty());
        if slug.len() + separator + word.len() > LONGEST {
            if slug.is_empty() {
                slug.push_str(&word[..LONGEST]);
            }
            break;
        }
        if separator == 1 {
            slug.push('-');
        }
        slug.push_str(word);
    }
    slug.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_is_a_valid_name_or_empty() {
        assert_eq!(slug("Make the tests pass!"), "make-the-tests-pass");
        assert_eq!(slug("修复 bug #12"), "bug-12");
        assert_eq!(slug("修复"), "");
        assert_eq!(slug(&"x".repeat(80)).len(), 40);
        assert_eq!(slug("-- --"), "");
        assert!(is_valid_name(&slug("a very long goal that goes on and on and on and on and on")));
    }

    #[test]
    fn names_are_lower_case_letters_digits_dash_and_underscore() {
        assert!(is_valid_name("fix_2-a"));
        for bad in ["", "Fix", "a b", "-x", "ä", "a/b", "../x"] {
            assert!(!is_valid_name(bad), "{bad}");
        }
    }

    #[test]
    fn a_turn_id_names_loop_iteration_role_and_attempt() {
        let key = TurnKey::first(3, Role::Coder).next_attempt();
        assert_eq!(key.id(&LoopId("abc".into())), "abc.3.coder.2");
    }

    #[test]
    fn a_turn_key_is_read_as_it_is_shown() {
        for role in Role::ALL {
            let key = TurnKey { iteration: 12, role, attempt: 3 };
            assert_eq!(key.to_string().parse(), Ok(key));
        }
        for bad in ["", "1", "1.coder", "1.coder.1.1", "x.coder.1", "1.baker.1", "1.coder.-1", "+1.coder.1", "1.coder."]
        {
            assert!(bad.parse::<TurnKey>().is_err(), "{bad}");
        }
    }
}
