//! The text of a checkpoint's commit.
//!
//! Invariant: the trailers are the last paragraph, one line each, whatever the summary above them contains; no secret is in
//! it.

use crate::CheckpointRequest;

/// Longer messages are cut.
const LONGEST: usize = 64 * 1024;

/// The trailer by which a turn's checkpoint is found again.
pub(crate) const TURN: &str = "Windlass-Turn";

pub(crate) fn compose(request: &CheckpointRequest) -> String {
    let mut text: String = request.unwanted.secrets.text(&request.message).chars().filter(|&c| c != '\0').collect();
    text.truncate(text.floor_char_boundary(LONGEST));
    let text = text.trim();
    let text = if text.is_empty() { format!("[iter-{}] checkpoint", request.iteration) } else { text.to_owned() };
    let mut message = format!(
        "{text}\n\nWindlass-Loop: {}\nWindlass-Iteration: {}\n{TURN}: {}\n",
        one_line(&request.loop_name),
        request.iteration,
        one_line(&request.turn_id),
    );
    if let Some(section) = &request.section {
        message.push_str(&format!("Windlass-Section: {}\n", one_line(section)));
    }
    message
}

/// Whether a commit's message, each line indented or not, carries the trailer of this turn.
pub(crate) fn is_of_turn(message: &str, turn_id: &str) -> bool {
    let wanted = one_line(turn_id);
    message.lines().any(|line| {
        line.trim().strip_prefix(TURN).and_then(|rest| rest.strip_prefix(':')).is_some_and(|id| id.trim() == wanted)
    })
}

fn one_line(text: &str) -> String {
    text.split(|c: char| c.is_control()).map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CommitMode;

    fn request(message: &str) -> CheckpointRequest {
        CheckpointRequest {
            loop_name: "fix\nWindlass-Turn: forged".into(),
            iteration: 3,
            turn_id: "t-1".into(),
            previous_head: String::new(),
            base: None,
            previous_tree: None,
            message: message.into(),
            mode: CommitMode::Engine,
            section: Some("2: parser".into()),
            never_commit: Vec::new(),
            unwanted: crate::Unwanted::default(),
        }
    }

    #[test]
    fn trailers_come_last_and_stay_on_their_lines() {
        let text = compose(&request("[iter-3] fix it\n\nbody\0 ends\n\n"));
        assert_eq!(
            text,
            "[iter-3] fix it\n\nbody ends\n\nWindlass-Loop: fix Windlass-Turn: forged\nWindlass-Iteration: 3\n\
             Windlass-Turn: t-1\nWindlass-Section: 2: parser\n"
        );
        assert!(is_of_turn(&text, "t-1"));
        assert!(!is_of_turn(&text, "forged"));
        assert!(compose(&request("  ")).starts_with("[iter-3] checkpoint\n\n"));
        let key = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
        assert!(compose(&request(&format!("use {key}"))).starts_with("use [redacted:github-token]\n"));
        assert!(compose(&request(&"ä".repeat(100_000))).len() < 70_000);
    }
}
