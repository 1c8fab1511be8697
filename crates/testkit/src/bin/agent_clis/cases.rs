//! What is recorded of every CLI: a prompt, what the model does, and which session it belongs to.
//!
//! Invariant: a case that resumes another one comes after it, so that both can share a world.

/// The session of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    New,
    /// Continues with the session of the case before it.
    Resume,
    /// Resumes a session that nobody has.
    Unknown,
}

/// One recording.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) start: Start,
    pub(crate) prompt: &'static str,
    /// The steps of the only turn, as in a script.
    pub(crate) steps: &'static str,
    /// Logged in as on a subscription, where the CLI tells it from a key.
    pub(crate) subscription: bool,
}

const fn case(name: &'static str, steps: &'static str) -> Case {
    Case { name, start: Start::New, prompt: "Write the file out.txt and finish.", steps, subscription: false }
}

const DONE: &str =
    r#"{ say = "File written. <promise>COMPLETE</promise>", usage = { input = 1500, cached = 1200, output = 25 } }"#;
const AGAIN: &str = r#"{ say = "Nothing more to do. <promise>COMPLETE</promise>" }"#;

pub(crate) const CASES: &[Case] = &[
    case("plain", r#"{ say = "Hello. Nothing to do." }"#),
    case(
        "tool",
        r#"{ say = "I will write the file.", shell = "echo scripted > out.txt && cat out.txt" },
           { say = "File written. <promise>COMPLETE</promise>", usage = { input = 1500, cached = 1200, output = 25 } }"#,
    ),
    Case { name: "resume", start: Start::Resume, prompt: "And again please.", steps: AGAIN, subscription: false },
    case("resume_unknown", DONE).start(Start::Unknown),
    case("write", r#"{ write = { path = "out.txt", content = "scripted\n" } }, { say = "Written." }"#),
    case(
        "thinking",
        r#"{ think = "First I think about it.", say = "Then I speak.", usage = { input = 1200, cached = 0, output = 40, thinking = 15 } }"#,
    ),
    case("tool_fails", r#"{ shell = "echo it says 429 rate limit exceeded >&2; exit 3" }, { say = "It failed." }"#),
    case("rate_limit", r#"{ fail = { kind = "rate_limit", retry_after_s = 1 } }"#),
    case(
        "rate_limit_once",
        r#"{ fail = { kind = "rate_limit", retry_after_s = 1 }, times = 1, say = "Done after a wait." }"#,
    ),
    case("rate_limit_reset", r#"{ fail = { kind = "rate_limit", reset_in_s = 90 } }"#),
    case("usage_limit", r#"{ fail = { kind = "usage_limit", reset_in_s = 5400 } }"#).on_subscription(),
    case("quota", r#"{ fail = "quota" }"#),
    case("overflow", r#"{ fail = "overflow" }"#),
    case("overflow_in_stream", r#"{ fail = { kind = "overflow", in_stream = true } }"#),
    case("auth", r#"{ fail = "auth" }"#),
    case("auth_401", r#"{ fail = { kind = "auth", status = 401 } }"#),
    case("permission", r#"{ fail = "permission" }"#),
    case("model_not_found", r#"{ fail = "model_not_found" }"#),
    case("server_error", r#"{ fail = "server_error" }"#),
    case("server_error_once", r#"{ fail = "server_error", times = 1, say = "Done after an error." }"#),
    case("overloaded", r#"{ fail = "overloaded" }"#),
    case("overloaded_in_stream", r#"{ fail = { kind = "overloaded", in_stream = true } }"#),
    case("cut", r#"{ say = "I was going to say", cut = true }"#),
    case("cut_once", r#"{ say = "I was going to say more.", cut = true, times = 1 }"#),
];

impl Case {
    const fn start(self, start: Start) -> Case {
        Case { start, ..self }
    }

    const fn on_subscription(self) -> Case {
        Case { subscription: true, ..self }
    }

    pub(crate) fn script(&self) -> String {
        // Who could not send a transcript could not have it summarised either.
        let apart = if self.name.starts_with("overflow") { "apart_fail = \"overflow\"\n" } else { "" };
        format!("{apart}[[turn]]\nsteps = [{}]\n", self.steps)
    }
}
