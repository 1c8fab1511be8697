//! What a server of tools needs of MCP: JSON-RPC, one message a line.
//!
//! Invariants: every request gets at most one answer, with its id. What is no message is ignored, and nothing that comes in ends
//! the conversation but its end. Requests are answered with and without a handshake: since 2026-07-28 a request names its version
//! in its metadata instead.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::task::{Id, JoinError, JoinSet};

use super::server::{ToolError, Toolbox};

pub type JsonObject = Map<String, Value>;

/// A tool as it is offered.
#[derive(Debug)]
pub struct Tool {
    pub name: &'static str,
    pub description: &'static str,
    /// The JSON Schema of its input.
    pub input: Value,
}

/// Versions that begin with a handshake, the newest last.
const WITH_HANDSHAKE: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const WITHOUT_HANDSHAKE: &str = "2026-07-28";

/// How long calls that still run when the client stops talking may take to answer.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

const NO_SUCH_METHOD: i64 = -32601;
const WRONG_PARAMETERS: i64 = -32602;
const INTERNAL: i64 = -32603;
const UNKNOWN_VERSION: i64 = -32022;

/// What goes wrong with a request itself, not with a tool: a code and words.
type Refused = (i64, String);

/// Serves a client until it stops talking.
pub async fn converse(
    tools: Arc<dyn Toolbox>,
    read: Box<dyn AsyncRead + Send + Unpin>,
    mut write: Box<dyn AsyncWrite + Send + Unpin>,
) -> io::Result<()> {
    let mut read = BufReader::new(read);
    let mut line = Vec::new();
    let mut calls = Calls::default();
    let heard_all = loop {
        tokio::select! {
            // What was read of a line stays in it if a call ends meanwhile.
            got = read.read_until(b'\n', &mut line) => {
                let ends = matches!(got, Ok(0));
                if let Err(error) = got {
                    break Err(error);
                }
                if let Some(answer) = hear(&tools, &mut calls, &std::mem::take(&mut line)) {
                    say(&mut write, &answer).await?;
                }
                if ends {
                    break Ok(());
                }
            }
            Some(answer) = calls.next() => say(&mut write, &answer).await?,
        }
    };
    // Those who ask by a file or a pipe stop talking before they have heard everything.
    let rest = async {
        while let Some(answer) = calls.next().await {
            say(&mut write, &answer).await?;
        }
        Ok::<(), io::Error>(())
    };
    match heard_all {
        Ok(()) => tokio::time::timeout(LAST_ANSWERS, rest).await.unwrap_or(Ok(())),
        broken @ Err(_) => broken,
    }
}

/// Calls of tools that run: several at once, so that a slow one holds up no other.
#[derive(Debug, Default)]
struct Calls {
    running: JoinSet<Result<Value, Refused>>,
    asked: HashMap<Id, Asked>,
}

/// The request that a call answers.
#[derive(Debug)]
struct Asked {
    id: Value,
    stateless: bool,
    /// The client no longer wants an answer.
    cancelled: bool,
}

impl Calls {
    fn begin(&mut self, tools: Arc<dyn Toolbox>, id: Value, stateless: bool, name: String, input: JsonObject) {
        let call = async move {
            let Some(told) = tools.call(&name, input).await else {
                return Err((WRONG_PARAMETERS, format!("unknown tool {}", name.escape_debug())));
            };
            let (text, failed) = match told {
                Ok(text) => (text, false),
                Err(ToolError(text)) => (text, true),
            };
            Ok(json!({ "content": [{ "type": "text", "text": text }], "isError": failed }))
        };
        let call = self.running.spawn(call);
        self.asked.insert(call.id(), Asked { id, stateless, cancelled: false });
    }

    /// The next answer that somebody wants; `None` if no call runs.
    async fn next(&mut self) -> Option<Value> {
        loop {
            let (call, outcome) = match self.running.join_next_with_id().await? {
                Ok((call, outcome)) => (call, outcome),
                Err(error) => (error.id(), Err(broken(&error))),
            };
            if let Some(asked) = self.asked.remove(&call).filter(|asked| !asked.cancelled) {
                return Some(answer(asked.id, asked.stateless, outcome));
            }
        }
    }

    /// The call runs to its end, so that nothing is left half done.
    fn cancel(&mut self, id: &Value) {
        for asked in self.asked.values_mut().filter(|asked| asked.id == *id) {
            asked.cancelled = true;
        }
    }
}

fn broken(error: &JoinError) -> Refused {
    (INTERNAL, format!("the tool failed: {error}"))
}

/// What can be answered at once.
fn hear(tools: &Arc<dyn Toolbox>, calls: &mut Calls, line: &[u8]) -> Option<Value> {
    let message: Value = serde_json::from_str(std::str::from_utf8(line).ok()?).ok()?;
    let method = message["method"].as_str()?;
    let params = &message["params"];
    let id = message.get("id").filter(|id| id.is_string() || id.is_number());
    let Some(id) = id.cloned() else {
        if method == "notifications/cancelled" {
            calls.cancel(&params["requestId"]);
        }
        return None;
    };
    let version = params["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str();
    let stateless = version == Some(WITHOUT_HANDSHAKE);
    if let Some(version) = version.filter(|version| !stateless && !WITH_HANDSHAKE.contains(version)) {
        let mut refused = answer(id, false, Err((UNKNOWN_VERSION, "Unsupported protocol version".to_owned())));
        refused["error"]["data"] = json!({ "requested": version, "supported": versions() });
        return Some(refused);
    }
    let outcome = match method {
        "initialize" => Ok(greeting(tools.as_ref(), params["protocolVersion"].as_str())),
        "server/discover" => Ok(discovered(tools.as_ref())),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(listed(tools.as_ref(), stateless)),
        "tools/call" => match call_of(params) {
            Ok((name, input)) => {
                calls.begin(Arc::clone(tools), id, stateless, name, input);
                return None;
            }
            Err(refused) => Err(refused),
        },
        other => Err((NO_SUCH_METHOD, format!("unknown method {}", other.escape_debug()))),
    };
    Some(answer(id, stateless, outcome))
}

fn call_of(params: &Value) -> Result<(String, JsonObject), Refused> {
    let Some(name) = params["name"].as_str() else {
        return Err((WRONG_PARAMETERS, "the call has no name".to_owned()));
    };
    match params.get("arguments") {
        None | Some(Value::Null) => Ok((name.to_owned(), JsonObject::new())),
        Some(Value::Object(input)) => Ok((name.to_owned(), input.clone())),
        Some(_) => Err((WRONG_PARAMETERS, "the arguments are not an object".to_owned())),
    }
}

fn versions() -> Vec<&'static str> {
    WITH_HANDSHAKE.into_iter().chain([WITHOUT_HANDSHAKE]).collect()
}

fn this_program() -> Value {
    json!({ "name": "windlass", "version": env!("CARGO_PKG_VERSION") })
}

fn greeting(tools: &dyn Toolbox, wanted: Option<&str>) -> Value {
    let [.., newest] = WITH_HANDSHAKE;
    let version = WITH_HANDSHAKE.into_iter().find(|known| wanted == Some(*known)).unwrap_or(newest);
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": {} },
        "serverInfo": this_program(),
        "instructions": tools.instructions(),
    })
}

fn discovered(tools: &dyn Toolbox) -> Value {
    json!({
        "resultType": "complete",
        "supportedVersions": versions(),
        "capabilities": { "tools": {} },
        "instructions": tools.instructions(),
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": { "io.modelcontextprotocol/serverInfo": this_program() },
    })
}

fn listed(tools: &dyn Toolbox, stateless: bool) -> Value {
    let each = |tool: Tool| json!({ "name": tool.name, "description": tool.description, "inputSchema": tool.input });
    let mut result = json!({ "tools": tools.tools().into_iter().map(each).collect::<Vec<_>>() });
    if stateless {
        result["ttlMs"] = json!(0);
        result["cacheScope"] = json!("private");
    }
    result
}

fn answer(id: Value, stateless: bool, outcome: Result<Value, Refused>) -> Value {
    match outcome {
        Ok(mut result) => {
            if stateless {
                result["resultType"] = json!("complete");
            }
            json!({ "jsonrpc": "2.0", "id": id, "result": result })
        }
        Err((code, message)) => json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }),
    }
}

async fn say(write: &mut (impl AsyncWrite + Unpin), message: &Value) -> io::Result<()> {
    let mut line = message.to_string();
    line.push('\n');
    write.write_all(line.as_bytes()).await?;
    write.flush().await
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;

    use super::super::server::Told;
    use super::*;

    /// `break` panics, `echo` says what it was given.
    #[derive(Debug)]
    struct Two;

    #[async_trait]
    impl Toolbox for Two {
        fn instructions(&self) -> String {
            "Echo.".to_owned()
        }

        fn tools(&self) -> Vec<Tool> {
            vec![Tool { name: "echo", description: "Says it", input: json!({ "type": "object" }) }]
        }

        async fn call(&self, name: &str, input: JsonObject) -> Option<Told> {
            match name {
                "echo" => Some(Ok(Value::Object(input).to_string())),
                "break" => panic!("broken"),
                _ => None,
            }
        }
    }

    /// What is answered to these lines, without the frame of each answer.
    async fn answers(lines: &[&str]) -> Vec<Value> {
        let read = Box::new(io::Cursor::new(lines.join("\n").into_bytes()));
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        converse(Arc::new(Two), read, Box::new(theirs)).await.expect("it ends");
        let mut lines = BufReader::new(ours).lines();
        let mut all = Vec::new();
        while let Ok(Some(line)) = lines.next_line().await {
            all.push(serde_json::from_str(&line).expect("JSON"));
        }
        all
    }

    fn request(id: u64, method: &str, params: Value) -> String {
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
    }

    #[tokio::test]
    async fn a_client_of_each_version_gets_its_own_and_others_the_newest_with_a_handshake() {
        for (wanted, gets) in [("2024-11-05", "2024-11-05"), ("2025-11-25", "2025-11-25"), ("2030-01-01", "2025-11-25")]
        {
            let said = answers(&[&request(1, "initialize", json!({ "protocolVersion": wanted }))]).await;
            assert_eq!(said[0]["result"]["protocolVersion"], gets);
            assert_eq!((&said[0]["id"], &said[0]["result"]["instructions"]), (&1.into(), &"Echo.".into()));
        }
    }

    #[tokio::test]
    async fn requests_that_name_their_version_need_no_handshake() {
        let named = |version: &str| json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": version } });
        let said = answers(&[
            &request(1, "server/discover", json!({})),
            &request(2, "tools/list", named("2026-07-28")),
            &request(3, "tools/list", named("2031-01-01")),
        ])
        .await;
        assert!(
            said[0]["result"]["supportedVersions"].as_array().is_some_and(|all| all.contains(&"2026-07-28".into()))
        );
        let list = &said[1]["result"];
        assert_eq!((&list["resultType"], &list["tools"][0]["name"]), (&"complete".into(), &"echo".into()));
        assert_eq!(
            (&said[2]["error"]["code"], &said[2]["error"]["data"]["requested"]),
            (&(-32022).into(), &"2031-01-01".into())
        );
    }

    #[tokio::test]
    async fn what_is_no_request_gets_no_answer_and_calls_are_answered_after_the_last_line() {
        let call = |id, name: &str| request(id, "tools/call", json!({ "name": name, "arguments": { "a": 1 } }));
        let said = answers(&[
            "this is no JSON",
            "[]",
            "{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}",
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
            &call(1, "echo"),
            &call(2, "nothing"),
            &call(3, "break"),
            &request(4, "tools/call", json!({ "name": "echo", "arguments": [] })),
            &request(5, "resources/list", json!({})),
        ])
        .await;
        let of = |id: u64| said.iter().find(|answer| answer["id"] == id).expect("an answer");
        assert_eq!(said.len(), 5, "{said:?}");
        assert_eq!(of(1)["result"]["content"][0]["text"], "{\"a\":1}");
        assert_eq!(
            [2, 3, 4, 5].map(|id| of(id)["error"]["code"].as_i64().unwrap_or(0)),
            [-32602, -32603, -32602, -32601]
        );
    }

    #[tokio::test]
    async fn a_call_that_is_cancelled_gets_no_answer() {
        let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 2 } });
        let call = |id, name: &str| request(id, "tools/call", json!({ "name": name }));
        let said = answers(&[&call(2, "echo"), &cancel.to_string(), &call(3, "echo")]).await;
        assert_eq!(said.iter().map(|answer| answer["id"].as_u64()).collect::<Vec<_>>(), [Some(3)]);
    }
}
