//! A server under test and a plain HTTP client, so that nothing is sent that a test does not say.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;
use windlass_testkit::{Running, Stream as Output, World};

use crate::support::windlass;

/// Longer than anything here takes; who waits so long has waited in vain.
const LIMIT: Duration = Duration::from_secs(60);

pub struct Server {
    pub running: Running,
    pub port: u16,
    pub token: String,
}

pub struct Response {
    pub status: u16,
    pub headers: String,
    pub body: Vec<u8>,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    #[track_caller]
    pub fn ok(&self) -> Value {
        assert!(matches!(self.status, 200 | 201), "{}: {}", self.status, self.text());
        self.json()
    }
}

impl Server {
    pub fn start(world: &World) -> Self {
        Self::start_with(world, &[])
    }

    pub fn start_with(world: &World, more: &[&str]) -> Self {
        let args = [&["serve", "--port", "0"], more].concat();
        let mut running = world.start(windlass(world, &args));
        let line = running.wait_line(Output::Stdout, "listening on");
        let port = line.trim().rsplit(':').next().unwrap().parse().unwrap();
        let token = std::fs::read_to_string(world.data_dir().join("server.token")).unwrap();
        Self { running, port, token }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream
    }

    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub fn bearer(&self) -> String {
        format!("Authorization: Bearer {}", self.token)
    }

    /// A request with these header lines and no others but those that say its length and its end.
    pub fn raw(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Response {
        let mut stream = self.connect();
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        for header in headers {
            text.push_str(&format!("{header}\r\n"));
        }
        if !body.is_empty() {
            text.push_str(&format!("Content-Length: {}\r\nContent-Type: application/json\r\n", body.len()));
        }
        text.push_str("\r\n");
        // A server that has seen enough answers before the end.
        let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
        let mut reader = BufReader::new(stream);
        let (status, headers) = head(&mut reader);
        let mut body = Vec::new();
        if headers.to_ascii_lowercase().contains("transfer-encoding: chunked") {
            let _ = Chunks { reader, left: 0 }.read_to_end(&mut body);
        } else {
            let _ = reader.read_to_end(&mut body);
        }
        Response { status, headers, body }
    }

    pub fn get(&self, path: &str) -> Response {
        self.raw("GET", path, &[&format!("Host: {}", self.host()), &self.bearer()], "")
    }

    pub fn post(&self, path: &str, body: &Value) -> Response {
        self.raw("POST", path, &[&format!("Host: {}", self.host()), &self.bearer()], &body.to_string())
    }

    pub fn put(&self, path: &str, body: &Value) -> Response {
        self.raw("PUT", path, &[&format!("Host: {}", self.host()), &self.bearer()], &body.to_string())
    }

    /// A stream of events, after this id if there is one.
    pub fn events(&self, path: &str, after: Option<&str>) -> Events {
        self.stream(&self.bearer(), path, after)
    }

    /// A stream of events for another bearer than the token.
    pub fn events_as(&self, bearer: &str, path: &str) -> Events {
        self.stream(bearer, path, None)
    }

    fn stream(&self, bearer: &str, path: &str, after: Option<&str>) -> Events {
        let mut stream = self.connect();
        let after = after.map_or(String::new(), |id| format!("Last-Event-ID: {id}\r\n"));
        let host = self.host();
        let text = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{bearer}\r\n{after}\r\n");
        stream.write_all(text.as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let (status, headers) = head(&mut reader);
        assert_eq!(status, 200, "{headers}");
        assert!(headers.to_ascii_lowercase().contains("content-type: text/event-stream"), "{headers}");
        Events { reader: BufReader::new(Chunks { reader, left: 0 }) }
    }

    /// Asks for a stream and never reads any of it.
    pub fn stalled(&self, path: &str) -> TcpStream {
        let mut stream = self.connect();
        let text = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n{}\r\n\r\n", self.host(), self.bearer());
        stream.write_all(text.as_bytes()).unwrap();
        stream
    }

    /// A request of which only this much is ever sent.
    pub fn begun(&self, text: &str) -> TcpStream {
        let mut stream = self.connect();
        stream.write_all(text.as_bytes()).unwrap();
        stream
    }

    /// The id of the loop of this name.
    #[track_caller]
    pub fn id(&self, name: &str) -> String {
        let listed = self.get("/api/loops").ok();
        let found = listed["loops"].as_array().unwrap().iter().find(|row| row["name"] == name);
        found.unwrap_or_else(|| panic!("no loop {name}: {listed}"))["id"].as_str().unwrap().to_owned()
    }
}

fn head(reader: &mut BufReader<TcpStream>) -> (u16, String) {
    let mut headers = String::new();
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|count| count > 2) {
        headers.push_str(&line);
        line.clear();
    }
    let status = headers.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    (status, headers)
}

/// The body of a chunked response.
pub struct Chunks {
    reader: BufReader<TcpStream>,
    left: usize,
}

impl Read for Chunks {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.left == 0 {
            let mut line = String::new();
            self.reader.read_line(&mut line)?;
            if line.trim().is_empty() {
                line.clear();
                self.reader.read_line(&mut line)?;
            }
            self.left = usize::from_str_radix(line.trim(), 16).unwrap_or(0);
            if self.left == 0 {
                return Ok(0);
            }
        }
        let most = buffer.len().min(self.left);
        let count = self.reader.read(&mut buffer[..most])?;
        self.left -= count;
        Ok(count)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub id: Option<String>,
    pub kind: Option<String>,
    pub data: Value,
}

pub struct Events {
    reader: BufReader<Chunks>,
}

impl Events {
    /// The next event, heartbeats left out; `None` at the end of the stream.
    pub fn next(&mut self) -> Option<Event> {
        let mut event = Event { id: None, kind: None, data: Value::Null };
        loop {
            let mut line = String::new();
            if self.reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let line = line.trim_end_matches('\n');
            if let Some(id) = line.strip_prefix("id: ") {
                event.id = Some(id.to_owned());
            } else if let Some(kind) = line.strip_prefix("event: ") {
                event.kind = Some(kind.to_owned());
            } else if let Some(data) = line.strip_prefix("data: ") {
                event.data = serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}"));
            } else if line.is_empty() && !event.data.is_null() {
                return Some(event);
            }
        }
    }

    /// All items up to one of this type, that one too.
    #[track_caller]
    pub fn until(&mut self, last: &str) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.next() {
            if event.kind.is_some() {
                continue;
            }
            let done = event.data["type"] == last;
            events.push(event);
            if done {
                return events;
            }
        }
        panic!("the stream ended before {last}: {:?}", events.last())
    }
}

/// All that was said, in one text.
pub fn said(events: &[Event]) -> String {
    events.iter().filter(|event| event.data["type"] == "text").filter_map(|event| event.data["text"].as_str()).collect()
}

/// The numbers of the journal's items.
pub fn numbers(events: &[Event]) -> Vec<u64> {
    let journal = events.iter().filter(|event| event.data["turn"].is_null() || event.data["type"] != "text");
    journal.filter_map(|event| event.data["seq"].as_u64()).collect()
}
