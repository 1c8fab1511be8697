//! A server as a place where requests run: the other end of the routes.

use async_trait::async_trait;
use reqwest::Method;
use serde_json::Value;
use windlass_app::{Kind, Problem, Remote, RemoteChanges, RemoteFeed, Until};
use windlass_core::ids::LoopId;
use windlass_engine::feed::FeedItem;

use crate::api;
use crate::client::{Board, Client, ClientError, Feed};

/// The variable with a server's token, for scripts.
pub const TOKEN: &str = "WINDLASS_TOKEN";

impl From<ClientError> for Problem {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Refused(problem) if problem.code == Kind::Unauthorized => problem
                .hint(format!("run `windlass serve link` on the server and pass the link to --server, or set {TOKEN}")),
            ClientError::Refused(problem) => *problem,
            ClientError::Address { .. } => {
                let hint = "use an address such as https://build.example:4747, or a link from `windlass serve link` on the server";
                Problem::of(Kind::Invalid, &error, Some(hint.to_owned()))
            }
            ClientError::Unreachable { .. } => {
                let hint = "check that `windlass serve` is running there; for SSH, use ssh -L 4747:127.0.0.1:4747 HOST";
                Problem::of(Kind::Failed, &error, Some(hint.to_owned()))
            }
            ClientError::Odd { .. } => Problem::of(Kind::Failed, &error, Some("compare the versions".to_owned())),
        }
    }
}

#[async_trait]
impl Remote for Client {
    async fn ask(&self, name: &'static str, request: Value) -> Result<Value, Problem> {
        let calls = api::calls();
        let (method, path) = calls.get(name).ok_or_else(|| {
            Problem::refused(format!("'{name}' is not available on a server"), "run it on that machine")
        })?;
        let Value::Object(mut fields) = request else { return Err(Problem::new(Kind::Invalid, "not a request")) };
        let mut filled = String::new();
        for part in path.split('/').skip(1) {
            filled.push('/');
            match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
                Some(name) => filled.push_str(fields.remove(name).as_ref().and_then(Value::as_str).unwrap_or_default()),
                None => filled.push_str(part),
            }
        }
        if *method == Method::GET {
            let words: Vec<(String, String)> =
                fields.into_iter().filter_map(|(name, value)| Some((name, word(value)?))).collect();
            let words: Vec<(&str, &str)> = words.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            return Ok(self.get(&filled, &words).await?);
        }
        Ok(self.send_json(method.clone(), &filled, &Value::Object(fields)).await?)
    }

    fn feed(&self, id: &LoopId, after: u64, until: Until) -> Box<dyn RemoteFeed> {
        Box::new(Client::feed(self, id, after, until))
    }

    fn changes(&self) -> Box<dyn RemoteChanges> {
        Box::new(Board::new(self.clone()))
    }

    fn address(&self) -> String {
        Client::address(self)
    }
}

/// A value as query text; null is omitted.
fn word(value: Value) -> Option<String> {
    match &value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => Some(value.to_string()),
    }
}

#[async_trait]
impl RemoteFeed for Feed {
    fn ready(&mut self) -> Option<FeedItem> {
        Feed::ready(self)
    }

    async fn wait(&mut self) -> Result<bool, Problem> {
        Ok(Feed::wait(self).await?)
    }
}
