//! Summaries by a direct call, against a real HTTP server that answers well, badly or not at all.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use windlass_engine::summariser::{
    CallError, EndpointSettings, Material, Protocol, SummariserKind, SummariserSettings, SummaryError, by_endpoint,
    write,
};

/// Set for every test by cargo itself; stands for a key.
const KEY_ENV: &str = "CARGO_PKG_NAME";
const KEY: &str = "windlass-engine";

enum Reply {
    Json(u16, String),
    Bytes(&'static [u8]),
    /// Reads the question and says nothing.
    Silence,
    /// Sends as much as is taken.
    Endless,
}

/// The questions in the order in which they came, head and body.
type Asked = Arc<Mutex<Vec<(String, serde_json::Value)>>>;

struct Server {
    base: String,
    asked: Asked,
}

impl Server {
    async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let asked = Asked::default();
        let mut replies: VecDeque<Reply> = replies.into_iter().collect();
        let log = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Some(reply) = replies.pop_front() {
                let (mut stream, _) = listener.accept().await.unwrap();
                let question = read_question(&mut stream).await;
                log.lock().unwrap().push(question);
                answer(stream, reply).await;
            }
        });
        Self { base, asked }
    }

    fn head(&self, index: usize) -> String {
        self.asked.lock().unwrap()[index].0.clone()
    }

    fn body(&self, index: usize) -> serde_json::Value {
        self.asked.lock().unwrap()[index].1.clone()
    }

    fn settings(&self, protocol: Protocol) -> SummariserSettings {
        let base_url = match protocol {
            Protocol::Openai => format!("{}/v1", self.base),
            Protocol::Anthropic => self.base.clone(),
        };
        settings(base_url, protocol)
    }
}

async fn read_question(stream: &mut TcpStream) -> (String, serde_json::Value) {
    let mut bytes = Vec::new();
    loop {
        assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0, "the question ended early");
        let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = String::from_utf8(bytes[..at].to_vec()).unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse::<usize>();
        if bytes.len() - at - 4 >= length.unwrap() {
            return (head, serde_json::from_slice(&bytes[at + 4..]).unwrap());
        }
    }
}

async fn answer(mut stream: TcpStream, reply: Reply) {
    match reply {
        Reply::Json(status, body) => {
            let head = format!(
                "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
                 location: http://127.0.0.1:1/\r\nconnection: close\r\n\r\n",
                body.len()
            );
            stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        }
        Reply::Bytes(bytes) => stream.write_all(bytes).await.unwrap(),
        Reply::Silence => {
            // Until the other side has had enough.
            let _ = stream.read_to_end(&mut Vec::new()).await;
        }
        Reply::Endless => {
            let chunk = vec![b' '; 64 * 1024];
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n").await;
            while stream.write_all(&chunk).await.is_ok() {}
        }
    }
}

fn says(protocol: Protocol, text: &str) -> Reply {
    let body = match protocol {
        Protocol::Openai => serde_json::json!({ "choices": [{ "message": { "role": "assistant", "content": text } }] }),
        Protocol::Anthropic => serde_json::json!({ "content": [{ "type": "text", "text": text }] }),
    };
    Reply::Json(200, body.to_string())
}

fn settings(base_url: String, protocol: Protocol) -> SummariserSettings {
    let endpoint = EndpointSettings { base_url, api_key_env: Some(KEY_ENV.into()), protocol, model: "small".into() };
    SummariserSettings {
        kind: SummariserKind::Endpoint,
        endpoint: Some(endpoint),
        timeout_ms: 30_000,
        ..SummariserSettings::default()
    }
}

fn material() -> Material {
    Material {
        iteration: 4,
        task: "fix the parser".into(),
        files: vec!["src/parser.rs".into()],
        files_changed: 1,
        history: "[assistant]: I fixed the parser.".into(),
        last_words: "I fixed the parser.".into(),
        ..Material::default()
    }
}

const BOTH: [Protocol; 2] = [Protocol::Openai, Protocol::Anthropic];

#[tokio::test]
async fn both_protocols_give_a_summary_and_a_message() {
    for protocol in BOTH {
        let server =
            Server::start([says(protocol, "修复了解析器。🦀\n"), says(protocol, "[iter-9] Fix parser\n\nNow ünï.")])
                .await;
        let mut settings = server.settings(protocol);
        settings.commit_message_model = Some("smaller".into());
        let summary = by_endpoint(&settings, &material()).await.unwrap();
        assert_eq!(summary.summary, "修复了解析器。🦀");
        assert_eq!(summary.commit_message, "[iter-4] Fix parser\n\nNow ünï.");
        let (path, key) = match protocol {
            Protocol::Openai => ("POST /v1/chat/completions HTTP/1.1", format!("authorization: Bearer {KEY}")),
            Protocol::Anthropic => ("POST /v1/messages HTTP/1.1", format!("x-api-key: {KEY}")),
        };
        assert!(server.head(0).starts_with(path), "{}", server.head(0));
        assert!(server.head(0).contains(&key), "{}", server.head(0));
        assert_eq!(server.body(0)["model"], "small");
        assert_eq!(server.body(0)["max_tokens"], 500);
        assert!(server.body(0).to_string().contains("I fixed the parser."));
        assert_eq!(server.body(1)["model"], "smaller");
        assert!(server.body(1).to_string().contains("修复了解析器。🦀"));
    }
}

#[tokio::test]
async fn refusals_are_told_without_the_key() {
    for protocol in BOTH {
        for (status, said, told) in [
            (500, "boom".to_owned(), "boom".to_owned()),
            (401, format!(r#"{{"error":{{"message":"bad key {KEY}!"}}}}"#), "bad key [key]!".to_owned()),
            (302, String::new(), "no reason given".to_owned()),
        ] {
            let server = Server::start([Reply::Json(status, said)]).await;
            let error = by_endpoint(&server.settings(protocol), &material()).await.unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("Failed to generate summary: the endpoint responded with {status}: {told}")
            );
        }
    }
}

#[tokio::test]
// promise: summaries-6
async fn a_failing_endpoint_still_gives_a_message_to_commit() {
    let server = Server::start([Reply::Json(503, "busy".into())]).await;
    let written = write(&server.settings(Protocol::Openai), &material()).await;
    assert_eq!(written.summary, "Summary generation failed");
    assert_eq!(written.commit_message, "[iter-4] I fixed the parser.\n\nI fixed the parser.\n");
    assert_eq!(written.warnings, ["Failed to generate summary: the endpoint responded with 503: busy"]);
}

#[tokio::test]
// promise: summaries-6
async fn a_failing_message_keeps_the_summary() {
    let server = Server::start([says(Protocol::Anthropic, "Fixed it."), Reply::Json(500, "boom".into())]).await;
    let written = write(&server.settings(Protocol::Anthropic), &material()).await;
    assert_eq!(written.summary, "Fixed it.");
    assert_eq!(written.commit_message, "[iter-4] Iteration 4 changes\n\nFixed it.");
    assert_eq!(written.warnings, ["Failed to generate commit message: the endpoint responded with 500: boom"]);
}

#[tokio::test]
// promise: summaries-6
async fn without_a_client_that_is_said() {
    let mut no_key = settings("http://127.0.0.1:1".into(), Protocol::Openai);
    no_key.endpoint.as_mut().unwrap().api_key_env = Some("WINDLASS_TEST_NO_SUCH_KEY".into());
    let no_endpoint = SummariserSettings { endpoint: None, ..no_key.clone() };
    let bad_address = settings("ftp://user:password@host".into(), Protocol::Openai);
    for settings in [no_key, no_endpoint, bad_address] {
        let written = write(&settings, &material()).await;
        assert_eq!(written.summary, "No summary (client not available)");
        assert!(written.commit_message.starts_with("[iter-4] I fixed the parser."));
        assert!(!written.warnings[0].contains("password"), "{:?}", written.warnings);
    }
}

#[tokio::test]
async fn nobody_listening_is_an_error_without_the_address() {
    let settings = settings("http://user:password@127.0.0.1:1/v1".into(), Protocol::Openai);
    let error = by_endpoint(&settings, &material()).await.unwrap_err().to_string();
    assert!(error.starts_with("Failed to generate summary: cannot reach the endpoint: "), "{error}");
    assert!(!error.contains("password"), "{error}");
}

#[tokio::test]
async fn a_silent_endpoint_is_given_up() {
    for protocol in BOTH {
        let server = Server::start([Reply::Silence]).await;
        let settings = SummariserSettings { timeout_ms: 150, ..server.settings(protocol) };
        let error = by_endpoint(&settings, &material()).await.unwrap_err();
        assert_eq!(error.to_string(), "Failed to generate summary: no response within 150 ms");
    }
}

#[tokio::test]
async fn an_answer_without_end_is_given_up() {
    let server = Server::start([Reply::Endless]).await;
    let error = by_endpoint(&server.settings(Protocol::Openai), &material()).await.unwrap_err();
    assert!(matches!(error, SummaryError::Summary(CallError::TooLong { .. })), "{error}");
}

#[tokio::test]
async fn garbage_is_an_error() {
    for protocol in BOTH {
        let replies = [
            Reply::Bytes(b"\x00\xff not http\r\n\r\n"),
            Reply::Bytes(b""),
            Reply::Bytes(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n\xff\xfe{"),
            Reply::Bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n{\"choi"),
            Reply::Json(200, "{}".into()),
            Reply::Json(200, r#"{"choices":[],"content":7}"#.into()),
        ];
        for reply in replies {
            let server = Server::start([reply]).await;
            let error = by_endpoint(&server.settings(protocol), &material()).await.unwrap_err();
            assert!(
                matches!(error, SummaryError::Summary(CallError::NotUnderstood(_) | CallError::Unreachable(_))),
                "{error}"
            );
        }
    }
}

#[tokio::test]
async fn empty_and_invalid_answers_have_their_texts() {
    for protocol in BOTH {
        let server = Server::start([says(protocol, " \n")]).await;
        let error = by_endpoint(&server.settings(protocol), &material()).await.unwrap_err();
        assert_eq!(error.to_string(), "Failed to generate summary: the response contains no text");
        let server = Server::start([says(protocol, "<think>forever"), says(protocol, "")]).await;
        let summary = by_endpoint(&server.settings(protocol), &material()).await.unwrap();
        assert_eq!(summary.summary, "Summary generation produced invalid output.");
        assert_eq!(
            summary.commit_message,
            "[iter-4] Iteration 4 changes\n\nSummary generation produced invalid output."
        );
    }
}

#[tokio::test]
async fn a_long_answer_is_cut_to_its_tokens() {
    let long = "The parser was fixed. ".repeat(20_000);
    let server = Server::start([says(Protocol::Openai, &long), says(Protocol::Openai, &long)]).await;
    let mut settings = server.settings(Protocol::Openai);
    settings.summary_max_tokens = 60;
    let summary = by_endpoint(&settings, &material()).await.unwrap();
    let tokens = windlass_engine::tokens::count(&summary.summary);
    assert!((50..=60).contains(&tokens), "{tokens}");
    assert!(summary.summary.ends_with("fixed."), "{}", summary.summary);
    assert!(summary.commit_message.lines().next().unwrap().chars().count() <= 50);
    assert!(summary.commit_message.len() < 1_200);
}

#[tokio::test]
async fn nothing_done_is_not_asked_about() {
    let server = Server::start([says(Protocol::Openai, "Touch files")]).await;
    let material = Material { history: String::new(), ..material() };
    let summary = by_endpoint(&server.settings(Protocol::Openai), &material).await.unwrap();
    assert_eq!(summary.summary, "No significant actions in this iteration.");
    assert_eq!(summary.commit_message, "[iter-4] Touch files");
}

#[tokio::test]
// promise: summaries-8
async fn switched_off_asks_nobody() {
    let server = Server::start([]).await;
    let settings = SummariserSettings { enabled: false, ..server.settings(Protocol::Openai) };
    let written = write(&settings, &material()).await;
    assert_eq!(written.summary, "I fixed the parser. Changed 1 file: src/parser.rs.");
    assert!(written.warnings.is_empty());
    let server = Server::start([says(Protocol::Openai, "Fix parser")]).await;
    let settings = SummariserSettings { generate_summary: false, ..server.settings(Protocol::Openai) };
    let written = write(&settings, &material()).await;
    assert_eq!(written.summary, "I fixed the parser. Changed 1 file: src/parser.rs.");
    assert_eq!(written.commit_message, "[iter-4] Fix parser");
}

#[tokio::test]
async fn a_gateway_that_wants_the_newer_limit_gets_it() {
    let refusal = r#"{"error":{"message":"Unsupported parameter: use 'max_completion_tokens' instead."}}"#;
    let replies = [Reply::Json(400, refusal.into()), says(Protocol::Openai, "Fixed."), says(Protocol::Openai, "Fix")];
    let server = Server::start(replies).await;
    let summary = by_endpoint(&server.settings(Protocol::Openai), &material()).await.unwrap();
    assert_eq!(summary.summary, "Fixed.");
    assert!(server.body(1)["max_tokens"].is_null());
    assert!(server.body(1)["max_completion_tokens"].as_u64().unwrap() > 500);
}

#[test]
fn the_agents_answer_is_read_and_held_to_the_same_rules() {
    let settings = SummariserSettings::default();
    let answer = "<<<SUMMARY>>>\nFixed it.\n<<<COMMIT MESSAGE>>>\nFix parser\n<<<END>>>";
    let read = |answer: &str| windlass_engine::summariser::read_answer(&settings, &material(), answer);
    let summary = read(answer).unwrap();
    assert_eq!((summary.summary.as_str(), summary.commit_message.as_str()), ("Fixed it.", "[iter-4] Fix parser"));
    assert_eq!(
        read("Fixed it.").unwrap_err().to_string(),
        "Failed to generate summary: the response does not have the requested format"
    );
}
