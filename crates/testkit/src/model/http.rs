//! As much of HTTP/1.1 as model clients need: one request per connection, an answer with a length or in chunks.
//!
//! Invariant: a chunked answer that was cut lacks its last chunk, so that every client can tell.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// The most a request may bring; a transcript is far smaller.
const MOST_BYTES: usize = 64 * 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Request {
    /// Reads one request; none if the client said nothing.
    pub(super) fn read(stream: &TcpStream) -> io::Result<Option<Request>> {
        let mut reader = BufReader::new(stream);
        let first = line(&mut reader)?;
        let mut words = first.split(' ').map(str::to_owned);
        let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(None) };
        let mut headers = Vec::new();
        loop {
            let header = line(&mut reader)?;
            if header.is_empty() {
                break;
            }
            if let Some((name, value)) = header.split_once(':') {
                headers.push((name.trim().to_lowercase(), value.trim().to_owned()));
            }
        }
        let mut request = Request { method, path, headers, body: Vec::new() };
        if request.header("expect").is_some_and(|e| e.eq_ignore_ascii_case("100-continue")) {
            (&mut &*stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        request.body = read_body(&request, &mut reader)?;
        Ok(Some(request))
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }
}

fn read_body(request: &Request, reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    if request.header("transfer-encoding").is_some_and(|e| e.contains("chunked")) {
        loop {
            let size = line(reader)?;
            let size = usize::from_str_radix(size.split(';').next().unwrap_or_default().trim(), 16)
                .map_err(|_| io::Error::other("a chunk without a size"))?;
            take(reader, size, &mut body)?;
            let _ = line(reader)?;
            if size == 0 {
                return Ok(body);
            }
        }
    }
    let length = request.header("content-length").and_then(|l| l.parse().ok()).unwrap_or(0);
    take(reader, length, &mut body)?;
    Ok(body)
}

fn take(reader: &mut impl BufRead, size: usize, into: &mut Vec<u8>) -> io::Result<()> {
    if into.len().saturating_add(size) > MOST_BYTES {
        return Err(io::Error::other("the request is too long"));
    }
    let start = into.len();
    into.resize(start + size, 0);
    reader.read_exact(&mut into[start..])
}

/// A line without its end; empty at the end of the stream.
fn line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut bytes = Vec::new();
    reader.take(64 * 1024).read_until(b'\n', &mut bytes)?;
    while bytes.last().is_some_and(|b| matches!(b, b'\r' | b'\n')) {
        bytes.pop();
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Sends a whole answer.
pub(super) fn send(mut to: &TcpStream, status: u16, headers: &[(String, String)], body: &[u8]) -> io::Result<()> {
    let mut bytes = head(status, "application/json", headers);
    bytes.extend(format!("content-length: {}\r\n\r\n", body.len()).into_bytes());
    bytes.extend(body);
    to.write_all(&bytes)
}

/// Starts an answer that comes in chunks.
pub(super) fn start_stream(mut to: &TcpStream) -> io::Result<()> {
    let mut bytes = head(200, "text/event-stream", &[("request-id".to_owned(), "req_scripted".to_owned())]);
    bytes.extend(b"cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n");
    to.write_all(&bytes)
}

pub(super) fn chunk(mut to: &TcpStream, data: &str) -> io::Result<()> {
    to.write_all(format!("{:x}\r\n{data}\r\n", data.len()).as_bytes())
}

pub(super) fn end_stream(mut to: &TcpStream) -> io::Result<()> {
    to.write_all(b"0\r\n\r\n")
}

fn head(status: u16, content_type: &str, headers: &[(String, String)]) -> Vec<u8> {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        529 => "Site Overloaded",
        _ => "Scripted",
    };
    let mut head = format!("HTTP/1.1 {status} {reason}\r\nconnection: close\r\ncontent-type: {content_type}\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.into_bytes()
}
