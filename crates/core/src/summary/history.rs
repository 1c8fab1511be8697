//! The history of one turn, gathered while it runs.
//!
//! Memory is bounded whatever the turn prints, and what is dropped is always the oldest: the end of a turn is what the
//! next iteration needs.

use std::collections::{BTreeMap, VecDeque};

use super::filter::{own_words, without_blocks};
use crate::agent::AgentEvent;
use crate::text::{CountTokens, end_within, fits, truncate_str};

/// Budget of the history text.
pub const HISTORY_TOKENS: usize = 4_000;
/// Stands in front of a history whose beginning is missing.
pub const TRUNCATED: &str = "[... truncated for length ...]";

const LONGEST_ARGUMENTS: usize = 200;
const LONGEST_OUTPUT: usize = 500;
/// More than the budget ever takes of one message.
const LONGEST_MESSAGE: usize = 32 * 1024;
const MOST_BYTES: usize = 96 * 1024;
/// What an item costs beside its text.
const ITEM_BYTES: usize = 64;
const LONGEST_NAME: usize = 80;
const MOST_TOOLS: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Item {
    /// What the assistant said between two calls, as it came. Only its end if it is long.
    Said {
        text: String,
        cut: bool,
    },
    Used(String),
    Returned(String),
}

impl Item {
    fn bytes(&self) -> usize {
        ITEM_BYTES
            + match self {
                Item::Said { text, .. } | Item::Used(text) | Item::Returned(text) => text.len(),
            }
    }

    /// The item as it stands in the history, empty if nothing of it counts.
    fn line(&self) -> String {
        match self {
            Item::Said { text, .. } => {
                let words = own_words(text);
                if words.is_empty() { words } else { format!("[assistant]: {words}") }
            }
            Item::Used(text) => format!("[tool_use]: {text}"),
            Item::Returned(text) => format!("[tool_result]: {text}"),
        }
    }
}

/// Sees a turn's events and keeps its recent items.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnHistory {
    items: VecDeque<Item>,
    bytes: usize,
    /// Something older was dropped.
    dropped: bool,
    tools: BTreeMap<String, u64>,
    failed_calls: u64,
}

impl TurnHistory {
    pub fn see(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Text { text } => self.say(text),
            AgentEvent::ToolUse { name, input, .. } => {
                let name = truncate_str(name.trim(), LONGEST_NAME);
                self.count_tool(&name);
                self.push(Item::Used(format!("{name} - {}", truncate_str(input.trim(), LONGEST_ARGUMENTS))));
            }
            AgentEvent::ToolResult { output, is_error, .. } => {
                self.failed_calls += u64::from(*is_error);
                // Four bytes are the longest character, and one more than fits tells that something was left out.
                let output = without_blocks(output, (LONGEST_OUTPUT + 1) * 4);
                let output = output.trim();
                if !output.is_empty() {
                    self.push(Item::Returned(truncate_str(output, LONGEST_OUTPUT)));
                }
            }
            AgentEvent::Result { text, is_error } => {
                // The closing word mostly repeats the last message; some agents say nothing but this.
                if !is_error && !self.last_words().ends_with(own_words(end(text)).as_str()) {
                    self.push(said(text));
                }
            }
            // Thought, not done; and what the harness says of itself.
            AgentEvent::Thinking { .. }
            | AgentEvent::Session { .. }
            | AgentEvent::Usage { .. }
            | AgentEvent::Account { .. }
            | AgentEvent::Error { .. }
            | AgentEvent::Raw { .. } => {}
        }
    }

    /// The newest items within a budget, oldest first, one blank line between them. Empty if nothing counts.
    pub fn text(&self, budget: usize, count: CountTokens<'_>) -> String {
        let mut kept: VecDeque<String> = VecDeque::new();
        if self.bytes <= budget {
            // Short enough in any encoding: the marks of the items are not longer than what `bytes` adds for each.
            kept.extend(self.items.iter().map(Item::line).filter(|line| !line.is_empty()));
            return if kept.is_empty() { String::new() } else { joined(&kept, self.dropped) };
        }
        let mut left = budget.saturating_sub(count(TRUNCATED) + 1);
        let mut truncated = self.dropped;
        for item in self.items.iter().rev() {
            let line = item.line();
            if line.is_empty() {
                continue;
            }
            let cost = count(&line) + 1;
            if cost <= left {
                left -= cost;
                kept.push_front(line);
                if matches!(item, Item::Said { cut: true, .. }) {
                    truncated = true;
                    break;
                }
                continue;
            }
            truncated = true;
            // A message too long for what is left gives its end, or one huge item would leave nothing.
            let room = left.saturating_sub(count("[assistant]: ") + 2);
            match item {
                Item::Said { text, .. } if room > 0 => {
                    let words = own_words(text);
                    kept.push_front(format!("[assistant]: {}", end_within(&words, room, count).trim_start()));
                }
                Item::Said { .. } | Item::Used(_) | Item::Returned(_) => {}
            }
            break;
        }
        // Tokens of a whole are not quite the sum of its parts'.
        while !kept.is_empty() {
            let whole = joined(&kept, truncated);
            if fits(&whole, budget, count) {
                return whole;
            }
            kept.pop_front();
            truncated = true;
        }
        String::new()
    }

    /// The last message in which the assistant said something of its own.
    pub fn last_words(&self) -> String {
        self.items
            .iter()
            .rev()
            .filter_map(|item| match item {
                Item::Said { text, .. } => Some(own_words(text)),
                Item::Used(_) | Item::Returned(_) => None,
            })
            .find(|words| !words.is_empty())
            .unwrap_or_default()
    }

    /// How often each tool was used, the busiest first.
    pub fn tools(&self) -> Vec<(String, u64)> {
        let mut tools: Vec<(String, u64)> = self.tools.iter().map(|(name, uses)| (name.clone(), *uses)).collect();
        tools.sort_by_key(|(_, uses)| std::cmp::Reverse(*uses));
        tools
    }

    pub fn failed_calls(&self) -> u64 {
        self.failed_calls
    }

    /// Bytes held now.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Text comes in pieces: all until the next call is one message.
    fn say(&mut self, text: &str) {
        if let Some(Item::Said { text: before, cut }) = self.items.back_mut() {
            self.bytes -= before.len();
            let left_out = text.len() > LONGEST_MESSAGE;
            before.push_str(end(text));
            *cut |= left_out || before.len() > LONGEST_MESSAGE;
            // With slack, so that a stream of small pieces does not move the whole text at each of them.
            if before.len() > LONGEST_MESSAGE + LONGEST_MESSAGE / 4 {
                let from = before.ceil_char_boundary(before.len() - LONGEST_MESSAGE);
                before.drain(..from);
            }
            self.bytes += before.len();
            self.make_room();
        } else {
            self.push(said(text));
        }
    }

    fn count_tool(&mut self, name: &str) {
        let name = if self.tools.len() < MOST_TOOLS || self.tools.contains_key(name) { name } else { "other tools" };
        *self.tools.entry(name.to_owned()).or_default() += 1;
    }

    fn push(&mut self, item: Item) {
        self.bytes += item.bytes();
        self.items.push_back(item);
        self.make_room();
    }

    fn make_room(&mut self) {
        while self.bytes > MOST_BYTES
            && self.items.len() > 1
            && let Some(oldest) = self.items.pop_front()
        {
            self.bytes -= oldest.bytes();
            self.dropped = true;
        }
    }
}

fn said(text: &str) -> Item {
    Item::Said { text: end(text).to_owned(), cut: text.len() > LONGEST_MESSAGE }
}

/// The end of a message, as much of it as is kept.
fn end(text: &str) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(LONGEST_MESSAGE))..]
}

fn joined(kept: &VecDeque<String>, truncated: bool) -> String {
    let marker = truncated.then_some(TRUNCATED);
    let parts: Vec<&str> = marker.into_iter().chain(kept.iter().map(String::as_str)).collect();
    parts.join("\n\n")
}
