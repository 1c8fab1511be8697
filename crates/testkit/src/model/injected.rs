//! Telling what the user (or Windlass) wrote from what a CLI puts into user messages by itself.
//!
//! Invariant: only blocks with the tags that the pinned CLIs are known to add are taken away, and only from the ends
//! of a text, so that a prompt which itself contains tags stays whole.

/// Tags around text that a CLI adds to a user message.
const TAGS: [&str; 15] = [
    "system-reminder",
    "system_reminder",
    "system_notification",
    "environment_context",
    "user_instructions",
    "INSTRUCTIONS",
    "permissions instructions",
    "current_datetime",
    "reminder",
    "session_context",
    "skills_instructions",
    "turn_aborted",
    "sql_tables",
    "hook_context",
    "info-msg",
];

/// How a whole user message that no person wrote starts.
const STARTS: [&str; 12] = [
    "This is the Gemini CLI. We are setting up the context",
    "This is Qwen Code. We are setting up the context",
    "# AGENTS.md instructions for ",
    "[Request interrupted by user",
    // Aider: an example, and what it says of files.
    "Change the greeting to be more casual",
    "I switched to a new code base.",
    "Here are summaries of some files present in my git repository.",
    "I am working with you on code in a git repository.",
    "I am not sharing ",
    "I have *added these files to the chat*",
    "I added these files to the chat: ",
    "Don't try and edit any existing code without asking me",
];

/// The part of a user message that was asked, if any.
pub(super) fn asked_part(text: &str) -> Option<&str> {
    let mut rest = text.trim();
    while let Some(shorter) = without_block(rest) {
        rest = shorter.trim();
    }
    let added = STARTS.iter().any(|s| rest.starts_with(s));
    (!rest.is_empty() && !added).then_some(rest)
}

fn without_block(text: &str) -> Option<&str> {
    TAGS.iter().find_map(|tag| {
        let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
        if text.starts_with(&open) {
            return text.find(&close).map(|at| &text[at + close.len()..]);
        }
        if text.ends_with(&close) {
            return text.rfind(&open).map(|at| &text[..at]);
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::asked_part;

    #[test]
    fn what_a_cli_adds_is_no_prompt() {
        assert_eq!(asked_part("<system-reminder>\nx\n</system-reminder>"), None);
        assert_eq!(asked_part("<environment_context>\n<cwd>/a</cwd>\n</environment_context>"), None);
        assert_eq!(asked_part(" \n"), None);
    }

    #[test]
    fn what_a_cli_adds_around_a_prompt_is_taken_away() {
        let text = "<current_datetime>now</current_datetime>\n\nFix it.\n\n<reminder>\nbe good\n</reminder>";
        assert_eq!(asked_part(text), Some("Fix it."));
    }

    #[test]
    fn tags_of_the_prompt_itself_stay() {
        let text = "<context>\nold\n</context>\nSay <promise>COMPLETE</promise>";
        assert_eq!(asked_part(text), Some(text));
    }
}
