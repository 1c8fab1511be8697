//! What goes over the two pipes between engine and shim.
//!
//! Control (engine to shim): the length of a spec as `u32`, the spec as JSON, then one-byte commands.
//! Status (shim to engine): frames of a kind byte, a `u32` length and that many bytes. All integers are
//! little-endian. Invariant: both ends are the same binary, so there is no version; a frame that cannot
//! be understood is an error and never skipped.

use serde::{Deserialize, Serialize};

use crate::record::{Ended, ExitRecord, SpawnFailure};
use crate::spec::Containment;

pub(crate) const STOP: u8 = b'T';
pub(crate) const KILL: u8 = b'K';

/// Above what an argument list and environment can be on any system we run on.
pub(crate) const MAX_SPEC: u32 = 16 << 20;
const MAX_FRAME: usize = 64 << 10;
const HEADER: usize = 5;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Status {
    Started(Started),
    SpawnFailed(SpawnFailure),
    Output { stdout: u64, stderr: u64 },
    Exited(Ended),
    Closed(ExitRecord),
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
            other => return Err(WireError::Kind(other)),
        };
        input.drain(..HEADER + length);
        Ok(Some(status))
    }
}

fn json<T: Serialize>(value: &T) -> Vec<u8> {
    // Plain structs with string keys: serialising them cannot fail.
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
    fn garbage_is_an_error() {
        assert!(Status::decode(&mut vec![9, 0, 0, 0, 0]).is_err());
        assert!(Status::decode(&mut vec![3, 255, 255, 255, 255]).is_err());
        assert!(Status::decode(&mut vec![3, 1, 0, 0, 0, 0]).is_err());
    }
}
