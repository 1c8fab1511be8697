//! What goes over the two pipes between engine and shim.
//!
//! Control (engine to shim): the length of a spec as `u32`, the spec as JSON, then orders: a kind byte,
//! and for some kinds a `u32` length and that many bytes. Status (shim to engine): frames of a kind byte, a `u32` length and that many bytes. All integers are
//! little-endian. Invariant: both ends are the same binary, so there is no version; a frame that cannot
//! be understood is an error and never skipped.

use serde::{Deserialize, Serialize};

use crate::contain::Containment;
use crate::record::{Ended, ExitRecord, SpawnFailure};
use crate::spec::TurnPaths;

/// What the engine wants of a running tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Order {
    Stop,
    Kill,
    /// Bytes for the standard input of the main process; at most [`MAX_INPUT`].
    Input(Vec<u8>),
    CloseInput,
    EndTurn,
    BeginTurn(TurnPaths),
}

/// How much input may be pending for the main process: the shim buffers this much in memory, and with the
/// longest other order it fits into a pipe, so that an order never waits behind input.
pub(crate) const MAX_INPUT: usize = 32 << 10;
const MAX_ORDER: usize = 64 << 10;

impl Order {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let (kind, body) = match self {
            Order::Stop => return vec![b'T'],
            Order::Kill => return vec![b'K'],
            Order::CloseInput => return vec![b'C'],
            Order::EndTurn => return vec![b'E'],
            Order::Input(bytes) => (b'I', bytes.clone()),
            Order::BeginTurn(paths) => (b'B', json(paths)),
        };
        let mut out = vec![kind];
        out.extend_from_slice(&u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes());
        out.extend_from_slice(&body);
        out
    }

    /// Takes the first whole order off `input`.
    pub(crate) fn decode(input: &mut Vec<u8>) -> Result<Option<Self>, WireError> {
        let Some(kind) = input.first().copied() else { return Ok(None) };
        let bare = match kind {
            b'T' => Some(Order::Stop),
            b'K' => Some(Order::Kill),
            b'C' => Some(Order::CloseInput),
            b'E' => Some(Order::EndTurn),
            _ => None,
        };
        if let Some(order) = bare {
            input.drain(..1);
            return Ok(Some(order));
        }
        let Some((header, rest)) = input.split_at_checked(HEADER) else { return Ok(None) };
        let length = u32::from_le_bytes([header[1], header[2], header[3], header[4]]) as usize;
        if length > MAX_ORDER {
            return Err(WireError::Length(length));
        }
        let Some(body) = rest.get(..length) else { return Ok(None) };
        let order = match kind {
            b'I' => Order::Input(body.to_vec()),
            b'B' => Order::BeginTurn(serde_json::from_slice(body)?),
            other => return Err(WireError::Kind(other)),
        };
        input.drain(..HEADER + length);
        Ok(Some(order))
    }
}

/// Above what an argument list and environment can be on any system we run on.
pub(crate) const MAX_SPEC: u32 = 16 << 20;
const MAX_FRAME: usize = 64 << 10;
const HEADER: usize = 5;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Status {
    Started(Started),
    SpawnFailed(SpawnFailure),
    Output {
        stdout: u64,
        stderr: u64,
    },
    Exited(Ended),
    Closed(ExitRecord),
    /// This many more bytes of input were written, or can no longer be written.
    InputTaken {
        bytes: u64,
    },
    /// The record is on disk, and the process lives.
    TurnOver(ExitRecord),
    TurnBegun,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Started {
    pub(crate) pid: u32,
    pub(crate) containment: Containment,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum WireError {
    #[error("unknown kind of frame {0}")]
    Kind(u8),
    #[error("frame of {0} bytes")]
    Length(usize),
    #[error("unreadable frame")]
    Json(#[from] serde_json::Error),
}

impl Status {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let (kind, body) = match self {
            Status::Started(started) => (1, json(started)),
            Status::SpawnFailed(failure) => (2, json(failure)),
            Status::Output { stdout, stderr } => {
                let mut body = Vec::with_capacity(16);
                body.extend_from_slice(&stdout.to_le_bytes());
                body.extend_from_slice(&stderr.to_le_bytes());
                (3, body)
            }
            Status::Exited(ended) => (4, json(ended)),
            Status::Closed(record) => (5, json(record)),
            Status::InputTaken { bytes } => (6, bytes.to_le_bytes().to_vec()),
            Status::TurnOver(record) => (7, json(record)),
            Status::TurnBegun => (8, Vec::new()),
        };
        out.push(kind);
        out.extend_from_slice(&u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes());
        out.extend_from_slice(&body);
    }

    /// Takes the first whole frame off `input`.
    pub(crate) fn decode(input: &mut Vec<u8>) -> Result<Option<Self>, WireError> {
        let Some((header, rest)) = input.split_at_checked(HEADER) else {
            return Ok(None);
        };
        let kind = header[0];
        let length = u32::from_le_bytes([header[1], header[2], header[3], header[4]]) as usize;
        if length > MAX_FRAME {
            return Err(WireError::Length(length));
        }
        let Some(body) = rest.get(..length) else {
            return Ok(None);
        };
        let status = match kind {
            1 => Status::Started(serde_json::from_slice(body)?),
            2 => Status::SpawnFailed(serde_json::from_slice(body)?),
            3 => {
                let (Some(stdout), Some(stderr)) = (body.first_chunk(), body.last_chunk()) else {
                    return Err(WireError::Length(length));
                };
                Status::Output { stdout: u64::from_le_bytes(*stdout), stderr: u64::from_le_bytes(*stderr) }
            }
            4 => Status::Exited(serde_json::from_slice(body)?),
            5 => Status::Closed(serde_json::from_slice(body)?),
            6 => {
                let Some(bytes) = body.first_chunk() else { return Err(WireError::Length(length)) };
                Status::InputTaken { bytes: u64::from_le_bytes(*bytes) }
            }
            7 => Status::TurnOver(serde_json::from_slice(body)?),
            8 => Status::TurnBegun,
            other => return Err(WireError::Kind(other)),
        };
        input.drain(..HEADER + length);
        Ok(Some(status))
    }
}

fn json<T: Serialize>(value: &T) -> Vec<u8> {
    // Plain structs with string keys: serializing them cannot fail.
    serde_json::to_vec(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_survive_any_split() {
        let sent = vec![
            Status::Started(Started { pid: 7, containment: Containment::Subreaper }),
            Status::Output { stdout: 1 << 40, stderr: 3 },
            Status::InputTaken { bytes: 1 << 33 },
            Status::TurnBegun,
            Status::Exited(Ended::Signaled { signal: 9 }),
        ];
        let mut bytes = Vec::new();
        for status in &sent {
            status.encode(&mut bytes);
        }
        for size in 1..bytes.len() {
            let mut got = Vec::new();
            let mut buffer = Vec::new();
            for chunk in bytes.chunks(size) {
                buffer.extend_from_slice(chunk);
                while let Some(status) = Status::decode(&mut buffer).unwrap() {
                    got.push(status);
                }
            }
            assert_eq!(got, sent);
            assert!(buffer.is_empty());
        }
    }

    #[test]
    fn orders_survive_any_split() {
        let paths = TurnPaths { stdout: "a".into(), stderr: "b".into(), times: None, exit_record: "c".into() };
        let sent = vec![
            Order::Input(b"TKEC".to_vec()),
            Order::EndTurn,
            Order::BeginTurn(paths),
            Order::Input(Vec::new()),
            Order::CloseInput,
            Order::Stop,
            Order::Kill,
        ];
        let bytes: Vec<u8> = sent.iter().flat_map(Order::encode).collect();
        for size in 1..bytes.len() {
            let mut got = Vec::new();
            let mut buffer = Vec::new();
            for chunk in bytes.chunks(size) {
                buffer.extend_from_slice(chunk);
                while let Some(order) = Order::decode(&mut buffer).unwrap() {
                    got.push(order);
                }
            }
            assert_eq!(got, sent);
            assert!(buffer.is_empty());
        }
        assert!(Order::decode(&mut b"?\0\0\0\0".to_vec()).is_err());
        assert!(Order::decode(&mut b"I\xff\xff\xff\xff".to_vec()).is_err());
        assert!(Order::decode(&mut b"B\x01\0\0\0{".to_vec()).is_err());
    }

    #[test]
    fn garbage_is_an_error() {
        assert!(Status::decode(&mut vec![9, 0, 0, 0, 0]).is_err());
        assert!(Status::decode(&mut vec![3, 255, 255, 255, 255]).is_err());
        assert!(Status::decode(&mut vec![3, 1, 0, 0, 0, 0]).is_err());
    }
}
