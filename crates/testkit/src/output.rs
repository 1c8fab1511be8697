//! How a program ended and what it wrote.
//!
//! Invariant: a failed assertion shows everything the program said, so that no test must be run twice to be
//! understood.

use std::process::ExitStatus;

use serde_json::Value;

/// What a finished program left.
#[derive(Debug, Clone)]
pub struct Output {
    /// The exit code, or none if a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// With replacement characters where it was not UTF-8; see [`Output::stdout_bytes`].
    pub stdout: String,
    pub stderr: String,
    pub stdout_bytes: Vec<u8>,
    pub stderr_bytes: Vec<u8>,
    pub(crate) what: String,
}

impl Output {
    pub(crate) fn new(what: String, status: ExitStatus, stdout: Vec<u8>, stderr: Vec<u8>) -> Output {
        use std::os::unix::process::ExitStatusExt;
        Output {
            code: status.code(),
            signal: status.signal(),
            stdout: String::from_utf8_lossy(&stdout).into_owned(),
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
            stdout_bytes: stdout,
            stderr_bytes: stderr,
            what,
        }
    }

    pub fn success(&self) -> bool {
        self.code == Some(0)
    }

    /// # Panics
    /// If the exit code is another one.
    #[track_caller]
    pub fn assert_code(&self, code: i32) -> &Output {
        assert!(self.code == Some(code), "expected exit code {code}\n{}", self.shown());
        self
    }

    /// # Panics
    /// If stdout does not contain the text.
    #[track_caller]
    pub fn assert_stdout_has(&self, text: &str) -> &Output {
        assert!(self.stdout.contains(text), "expected {text:?} in stdout\n{}", self.shown());
        self
    }

    /// # Panics
    /// If stderr does not contain the text.
    #[track_caller]
    pub fn assert_stderr_has(&self, text: &str) -> &Output {
        assert!(self.stderr.contains(text), "expected {text:?} in stderr\n{}", self.shown());
        self
    }

    /// Stdout as one JSON value.
    ///
    /// # Panics
    /// If it is none.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("stdout is not JSON: {e}\n{}", self.shown()))
    }

    /// Stdout as one JSON value a line.
    ///
    /// # Panics
    /// If a line is none.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<Value> {
        let parse = |line: &str| {
            serde_json::from_str(line).unwrap_or_else(|e| panic!("not a JSON line: {e}: {line}\n{}", self.shown()))
        };
        self.stdout.lines().filter(|l| !l.trim().is_empty()).map(parse).collect()
    }

    /// Everything for a user to read.
    pub fn shown(&self) -> String {
        let ended = match (self.code, self.signal) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "unknown end".to_owned(),
        };
        format!("{}\nended with {ended}\n--- stdout\n{}\n--- stderr\n{}", self.what, self.stdout, self.stderr)
    }
}
