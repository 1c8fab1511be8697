//! A small MCP client: JSON-RPC lines over a program's standard input and output, written out so that a test sees
//! exactly what is said.
//!
//! Invariant: whatever the program prints on its standard output must be a JSON-RPC message.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};

use serde_json::{Value, json};

use crate::HUNG;

/// A connected server.
#[derive(Debug)]
pub struct Mcp {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    answers: BTreeMap<u64, Value>,
    last_id: u64,
    /// What the server said of itself.
    pub info: Value,
}

/// What a tool said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolAnswer {
    pub is_error: bool,
    pub text: String,
}

impl ToolAnswer {
    /// # Panics
    /// If the tool failed.
    #[track_caller]
    pub fn ok(self) -> String {
        assert!(!self.is_error, "the tool failed: {}", self.text);
        self.text
    }

    /// # Panics
    /// If the tool did not fail.
    #[track_caller]
    pub fn err(self) -> String {
        assert!(self.is_error, "the tool did not fail: {}", self.text);
        self.text
    }

    /// # Panics
    /// If the tool failed, or says no JSON.
    #[track_caller]
    pub fn json(self) -> Value {
        let text = self.ok();
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("no JSON ({e}): {text}"))
    }
}

impl Mcp {
    /// Starts the server and says hello.
    ///
    /// # Panics
    /// If it does not answer as a server does.
    #[track_caller]
    pub fn start(command: Command) -> Mcp {
        let mut mcp = Mcp::start_silent(command);
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "test", "version": "0" } });
        mcp.info = mcp.request("initialize", &hello)["result"].clone();
        assert!(mcp.info["capabilities"]["tools"].is_object(), "no tools: {}", mcp.info);
        mcp.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        mcp
    }

    /// Starts the server and says nothing.
    ///
    /// # Panics
    /// If it cannot be started.
    #[track_caller]
    pub fn start_silent(mut command: Command) -> Mcp {
        let what = format!("{command:?}");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap_or_else(|e| panic!("cannot start {what}: {e}"));
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().expect("stdout is piped");
        let (say, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if say.send(line).is_err() {
                    return;
                }
            }
        });
        Mcp { child, stdin, lines, answers: BTreeMap::new(), last_id: 0, info: Value::Null }
    }

    /// The names of the tools that are offered, sorted.
    ///
    /// # Panics
    /// If the server does not say.
    #[track_caller]
    pub fn tools(&mut self) -> Vec<String> {
        let answer = self.request("tools/list", &json!({}));
        let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("no list of tools: {answer}"));
        let mut names: Vec<String> = tools
            .iter()
            .map(|tool| {
                assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
                assert!(tool["description"].as_str().is_some_and(|text| !text.is_empty()), "{tool}");
                tool["name"].as_str().expect("a tool has a name").to_owned()
            })
            .collect();
        names.sort();
        names
    }

    /// Calls a tool and waits for its answer.
    ///
    /// # Panics
    /// If there is none within [`HUNG`], or a protocol error instead.
    #[track_caller]
    pub fn call(&mut self, tool: &str, input: &Value) -> ToolAnswer {
        let id = self.begin(tool, input);
        self.finish(id)
    }

    /// Calls a tool and does not wait.
    #[track_caller]
    pub fn begin(&mut self, tool: &str, input: &Value) -> u64 {
        self.ask("tools/call", &json!({ "name": tool, "arguments": input }))
    }

    /// Waits for the answer to a call.
    ///
    /// # Panics
    /// As [`Mcp::call`].
    #[track_caller]
    pub fn finish(&mut self, id: u64) -> ToolAnswer {
        let answer = self.answer(id);
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {answer}")).to_owned();
        ToolAnswer { is_error: result["isError"] == true, text }
    }

    /// Any request, and the whole message that answers it.
    ///
    /// # Panics
    /// If there is none within [`HUNG`].
    #[track_caller]
    pub fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id)
    }

    fn ask(&mut self, method: &str, params: &Value) -> u64 {
        self.last_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params }));
        self.last_id
    }

    #[track_caller]
    fn answer(&mut self, id: u64) -> Value {
        loop {
            if let Some(answer) = self.answers.remove(&id) {
                return answer;
            }
            let message = self.message();
            if let Some(id) = message["id"].as_u64() {
                self.answers.insert(id, message);
            }
        }
    }

    /// The next message of the server.
    ///
    /// # Panics
    /// If there is none within [`HUNG`], or it is no JSON-RPC.
    #[track_caller]
    pub fn message(&mut self) -> Value {
        let line = self.lines.recv_timeout(HUNG).unwrap_or_else(|e| panic!("the server says nothing: {e}"));
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("no JSON ({e}): {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "no JSON-RPC: {line}");
        message
    }

    fn send(&mut self, message: &Value) {
        self.send_raw(format!("{message}\n").as_bytes());
    }

    /// Any bytes.
    ///
    /// # Panics
    /// If the server no longer reads.
    #[track_caller]
    pub fn send_raw(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("still open");
        stdin.write_all(bytes).and_then(|()| stdin.flush()).expect("the server reads");
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its end, which it must come to by itself.
    ///
    /// # Panics
    /// If it does not within [`HUNG`].
    #[track_caller]
    pub fn wait_ended(mut self) -> ExitStatus {
        loop {
            match self.lines.recv_timeout(HUNG) {
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => return self.child.wait().expect("it was started here"),
                Err(RecvTimeoutError::Timeout) => panic!("the server does not end"),
            }
        }
    }

    /// Closes its standard input and waits for its end.
    ///
    /// # Panics
    /// If it cannot be waited for.
    #[track_caller]
    pub fn close(mut self) -> ExitStatus {
        drop(self.stdin.take());
        self.child.wait().expect("it was started here")
    }
}

impl Drop for Mcp {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
