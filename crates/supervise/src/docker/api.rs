//! The few calls of the Docker API that are needed, each on its own connection.
//!
//! Paths carry no version: what is requested has been there since [`OLDEST_API`] and daemons drop old versions.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{Method, Request, Response, StatusCode, header};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::UnixStream;

use super::FoundContainer;

/// Mounts that leave out what is mounted below them.
pub(super) const OLDEST_API: (u32, u32) = (1, 40);

/// A daemon that is alive answers in milliseconds; one that starts a container on a slow disk, in seconds.
const PATIENCE: Duration = Duration::from_secs(30);
/// No answer that is read here is nearly as long.
const LONGEST_ANSWER: usize = 8 << 20;
/// How much of a container's own output is kept.
const LONGEST_WORDS: usize = 4096;

#[derive(Debug, thiserror::Error)]
pub enum DockerError {
    #[error("cannot reach Docker at {}: {source}", socket.display())]
    Unreachable { socket: PathBuf, source: io::Error },
    #[error("Docker did not {what} within {} s", patience.as_secs())]
    Silent { what: &'static str, patience: Duration },
    #[error("Docker cannot {what}: {message}")]
    Refused { what: &'static str, status: u16, message: String },
    #[error("unexpected response from Docker: {0}")]
    Odd(String),
    #[error("cannot query Docker: {0}")]
    Own(#[source] io::Error),
}

impl DockerError {
    /// Whether no daemon is running, and so no container either.
    pub fn is_absence(&self) -> bool {
        use io::ErrorKind::{ConnectionRefused, NotFound};
        matches!(self, DockerError::Unreachable { source, .. } if matches!(source.kind(), NotFound | ConnectionRefused))
    }

    pub(crate) fn status(&self) -> Option<u16> {
        match self {
            DockerError::Refused { status, .. } => Some(*status),
            DockerError::Unreachable { .. }
            | DockerError::Silent { .. }
            | DockerError::Odd(_)
            | DockerError::Own(_) => None,
        }
    }
}

/// The daemon behind a socket.
#[derive(Debug, Clone)]
pub(crate) struct Daemon {
    socket: PathBuf,
    patience: Duration,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Version {
    pub(super) version: String,
    pub(super) api_version: String,
    #[serde(default)]
    pub(super) os: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Info {
    #[serde(default)]
    security_options: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Listed {
    id: String,
    state: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Created {
    id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Ended {
    status_code: i64,
}

impl Daemon {
    pub(crate) fn at(socket: &Path) -> Self {
        Self { socket: socket.to_owned(), patience: PATIENCE }
    }

    pub(super) async fn version(&self) -> Result<Version, DockerError> {
        understand(&self.call("report its version", Method::GET, "/version", None).await?)
    }

    /// Whether root in a container is the user who runs the daemon.
    pub(super) async fn is_rootless(&self) -> Result<bool, DockerError> {
        let info: Info = understand(&self.call("describe itself", Method::GET, "/info", None).await?)?;
        Ok(info.security_options.iter().any(|option| option.contains("rootless")))
    }

    pub(super) async fn has_image(&self, image: &str) -> Result<bool, DockerError> {
        let path = format!("/images/{}/json", encoded(image));
        match self.call("show the image", Method::GET, &path, None).await {
            Ok(_) => Ok(true),
            Err(error) if error.status() == Some(404) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn containers(&self, label: &str, value: &str) -> Result<Vec<FoundContainer>, DockerError> {
        let filters = serde_json::json!({ "label": [format!("{label}={value}")] }).to_string();
        let path = format!("/containers/json?all=1&filters={}", encoded(&filters));
        let listed: Vec<Listed> = understand(&self.call("list containers", Method::GET, &path, None).await?)?;
        Ok(listed.into_iter().map(|Listed { id, state }| FoundContainer { id, state }).collect())
    }

    pub(crate) async fn create(&self, body: &Value) -> Result<Container<'_>, DockerError> {
        let answer = self.call("create the container", Method::POST, "/containers/create", Some(body)).await?;
        let Created { id } = understand(&answer)?;
        Ok(Container { daemon: self, id })
    }

    /// Ends and removes a container; one that is gone, or about to be, is just that.
    pub(crate) async fn remove(&self, id: &str) -> Result<(), DockerError> {
        let path = format!("/containers/{id}?force=1&v=1");
        match self.call("remove the container", Method::DELETE, &path, None).await {
            Err(error) if !matches!(error.status(), Some(404 | 409)) => Err(error),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    async fn call(
        &self,
        what: &'static str,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Vec<u8>, DockerError> {
        self.in_time(what, async { body_of(self.ask(what, method, path, body, false).await?).await }).await
    }

    async fn in_time<T>(
        &self,
        what: &'static str,
        asked: impl Future<Output = Result<T, DockerError>>,
    ) -> Result<T, DockerError> {
        let patience = self.patience;
        tokio::time::timeout(patience, asked).await.unwrap_or(Err(DockerError::Silent { what, patience }))
    }

    /// The answer up to its body, if it is a good one.
    async fn ask(
        &self,
        what: &'static str,
        method: Method,
        path: &str,
        body: Option<&Value>,
        upgrade: bool,
    ) -> Result<Response<Incoming>, DockerError> {
        let unreachable = |source| DockerError::Unreachable { socket: self.socket.clone(), source };
        let lost = |error: hyper::Error| unreachable(io::Error::other(error));
        let stream = UnixStream::connect(&self.socket).await.map_err(unreachable)?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(lost)?;
        tokio::spawn(connection.with_upgrades());
        let text = body.map(Value::to_string).unwrap_or_default();
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, "docker")
            .header(header::CONTENT_TYPE, "application/json");
        if upgrade {
            request = request.header(header::CONNECTION, "Upgrade").header(header::UPGRADE, "tcp");
        }
        let request =
            request.body(Full::<Bytes>::from(text)).map_err(|error| DockerError::Own(io::Error::other(error)))?;
        let response = sender.send_request(request).await.map_err(lost)?;
        let status = response.status();
        if status.is_success() || status == StatusCode::SWITCHING_PROTOCOLS {
            return Ok(response);
        }
        let said = body_of(response).await.unwrap_or_default();
        Err(DockerError::Refused { what, status: status.as_u16(), message: complaint(&said) })
    }
}

/// A container that was made. It is not removed with this value.
#[derive(Debug)]
pub(crate) struct Container<'a> {
    daemon: &'a Daemon,
    pub(crate) id: String,
}

impl Container<'_> {
    /// The output of its first process, from its start.
    pub(crate) async fn listen(&self) -> Result<tokio::task::JoinHandle<String>, DockerError> {
        let path = format!("/containers/{}/attach?stream=1&stdout=1&stderr=1", self.id);
        let what = "attach to the container";
        let asked = self.daemon.ask(what, Method::POST, &path, None, true);
        let response = self.daemon.in_time(what, asked).await?;
        let stream = hyper::upgrade::on(response).await.map_err(|error| DockerError::Odd(error.to_string()))?;
        Ok(tokio::spawn(async move {
            let mut words = Vec::new();
            let _ = read_words(TokioIo::new(stream), &mut words).await;
            String::from_utf8_lossy(&words).into_owned()
        }))
    }

    /// Resolves, when it is awaited a second time, as the container is gone, to the exit code of its first process.
    pub(crate) async fn gone(&self) -> Result<impl Future<Output = Option<i64>> + use<>, DockerError> {
        let path = format!("/containers/{}/wait?condition=removed", self.id);
        let what = "wait for the container";
        let asked = self.daemon.ask(what, Method::POST, &path, None, false);
        let response = self.daemon.in_time(what, asked).await?;
        Ok(async move {
            let ended: Ended = understand(&body_of(response).await.ok()?).ok()?;
            Some(ended.status_code)
        })
    }

    pub(crate) async fn start(&self) -> Result<(), DockerError> {
        let path = format!("/containers/{}/start", self.id);
        self.daemon.call("start the container", Method::POST, &path, None).await.map(drop)
    }

    pub(crate) async fn remove(&self) -> Result<(), DockerError> {
        self.daemon.remove(&self.id).await
    }
}

/// Docker puts eight bytes before each piece: which stream it is of, and how long it is.
async fn read_words(mut stream: impl AsyncRead + Unpin, words: &mut Vec<u8>) -> io::Result<()> {
    loop {
        let _stream = stream.read_u32().await?;
        let length = stream.read_u32().await?;
        let mut piece = (&mut stream).take(length.into());
        let room = LONGEST_WORDS.saturating_sub(words.len());
        (&mut piece).take(room as u64).read_to_end(words).await?;
        tokio::io::copy(&mut piece, &mut tokio::io::sink()).await?;
    }
}

async fn body_of(response: Response<Incoming>) -> Result<Vec<u8>, DockerError> {
    let body = Limited::new(response.into_body(), LONGEST_ANSWER).collect().await;
    body.map(|body| body.to_bytes().to_vec()).map_err(|error| DockerError::Odd(error.to_string()))
}

fn understand<T: for<'a> Deserialize<'a>>(answer: &[u8]) -> Result<T, DockerError> {
    serde_json::from_slice(answer).map_err(|error| DockerError::Odd(error.to_string()))
}

/// The daemon's error message, in one line.
fn complaint(answer: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Message {
        message: String,
    }
    let text = match serde_json::from_slice::<Message>(answer) {
        Ok(Message { message }) => message,
        Err(_) => String::from_utf8_lossy(answer).into_owned(),
    };
    match text.lines().next().map(str::trim) {
        Some(line) if !line.is_empty() => line.chars().take(500).collect(),
        _ => "no reason given".to_owned(),
    }
}

/// A part of a path or query. What names of images have in them stays.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/:@".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_images_stay_and_the_rest_is_encoded() {
        assert_eq!(encoded("host:5000/team/image@sha256:ab"), "host:5000/team/image@sha256:ab");
        assert_eq!(encoded("{\"label\":[\"a=b c\"]}?"), "%7B%22label%22:%5B%22a%3Db%20c%22%5D%7D%3F");
    }

    #[test]
    fn a_refusal_is_one_line_whatever_form_it_has() {
        assert_eq!(complaint(b"{\"message\":\"no such image\\nmore\"}"), "no such image");
        assert_eq!(complaint(b"<html>"), "<html>");
        assert_eq!(complaint(b""), "no reason given");
    }

    #[tokio::test]
    async fn a_daemon_that_says_nothing_is_given_up() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("docker.sock");
        let _accepts = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let daemon = Daemon { patience: Duration::from_millis(1), ..Daemon::at(&socket) };
        let container = Container { daemon: &daemon, id: "1".into() };
        let given_up = [
            daemon.version().await.err(),
            daemon.create(&Value::Null).await.err(),
            container.listen().await.err(),
            container.gone().await.err(),
            container.start().await.err(),
            container.remove().await.err(),
        ];
        for error in given_up {
            assert!(matches!(error, Some(DockerError::Silent { .. })), "{error:?}");
        }
        let said = DockerError::Silent { what: "report its version", patience: PATIENCE }.to_string();
        assert_eq!(said, "Docker did not report its version within 30 s");
    }

    #[tokio::test]
    async fn words_are_put_together_from_both_streams_and_end_somewhere() {
        let mut stream = vec![1, 0, 0, 0, 0, 0, 0, 3];
        stream.extend(b"out");
        stream.extend([2, 0, 0, 0, 0, 0, 0, 4]);
        stream.extend(b"err\n");
        stream.extend([2, 0, 0, 0, 0, 0, 0x20, 0]);
        stream.extend(vec![b'x'; 0x2000]);
        let mut words = Vec::new();
        assert!(read_words(stream.as_slice(), &mut words).await.is_err(), "the end is an error like another");
        assert!(words.starts_with(b"outerr\nx"), "{:?}", String::from_utf8_lossy(&words[..10]));
        assert_eq!(words.len(), LONGEST_WORDS);
    }
}
