//! Somebody who is notified: a plain HTTP server on loopback that answers as it is told and keeps what it gets.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver as Heard, channel};

use windlass_testkit::HUNG;

pub struct Receiver {
    pub url: String,
    heard: Heard<Posted>,
}

/// One request.
#[derive(Debug)]
pub struct Posted {
    pub line: String,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

/// What a request is answered with.
#[derive(Debug, Clone, Copy)]
pub enum Reply {
    Status(u16),
    /// Elsewhere.
    Redirect,
    /// Nothing, ever.
    Silence,
}

impl Receiver {
    /// The n-th request gets the n-th reply; the last one repeats.
    pub fn replying(replies: &'static [Reply]) -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let url = format!("http://{}/hook?key=hidden", listener.local_addr().expect("bound"));
        let (say, heard) = channel();
        std::thread::spawn(move || {
            let mut silent = Vec::new();
            for (number, client) in listener.incoming().flatten().enumerate() {
                let reply = replies[number.min(replies.len() - 1)];
                let Some((posted, kept)) = answer(client, reply) else { continue };
                silent.extend(kept);
                if say.send(posted).is_err() {
                    return;
                }
            }
        });
        Receiver { url, heard }
    }

    /// The next request.
    #[track_caller]
    pub fn next(&self) -> Posted {
        self.heard.recv_timeout(HUNG).expect("nobody was notified")
    }

    /// Whether there was no request that was not taken yet.
    pub fn is_quiet(&self) -> bool {
        self.heard.try_recv().is_err()
    }
}

fn answer(client: TcpStream, reply: Reply) -> Option<(Posted, Option<TcpStream>)> {
    let mut reader = BufReader::new(client.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut headers = BTreeMap::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim().split_once(": ") else { break };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let length = headers.get("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let posted = Posted { line: line.trim().to_owned(), headers, body };
    let head = match reply {
        Reply::Status(status) => format!("{status} Said"),
        Reply::Redirect => "302 Found\r\nLocation: /elsewhere".to_owned(),
        Reply::Silence => return Some((posted, Some(client))),
    };
    let mut client = client;
    client.write_all(format!("HTTP/1.1 {head}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").as_bytes()).ok()?;
    Some((posted, None))
}
