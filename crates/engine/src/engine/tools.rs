//! The tools of a turn, on a Unix socket of its own.
//!
//! An agent starts `windlass mcp`, which carries bytes between its standard input and output and this socket and knows
//! nothing else: inside a sandbox the data of this program is not there. The driver serves, and only the role and turn
//! that the socket was made for. The socket goes with the agent's process.

use std::fmt::Debug;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use async_trait::async_trait;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use windlass_core::ids::{LoopId, Role, TurnKey};
use windlass_core::machine::LoopState;

use super::{Engine, EngineError};
use crate::own_socket::OwnSocket;

/// The variable that names the socket to `windlass mcp`.
pub const SOCKET_VARIABLE: &str = "WINDLASS_MCP_SOCKET";

/// An agent has one connection, and a few more if it starts helpers; more would take the driver's files away.
const MOST_CONNECTIONS: usize = 16;
/// In bytes; one message is a line, and the driver holds it in memory.
const LONGEST_MESSAGE: usize = 8 * 1024 * 1024;

/// Whose tools they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    Turn(TurnKey),
    /// Of whichever turn of this role is under way: a process may live through several.
    Role(Role),
}

impl Whose {
    pub fn role(self) -> Role {
        match self {
            Whose::Turn(turn) => turn.role,
            Whose::Role(role) => role,
        }
    }

    /// The turn in whose name something is to be done; `None` if no turn of the role is under way.
    pub fn turn(self, state: &LoopState) -> Option<TurnKey> {
        match self {
            Whose::Turn(turn) => Some(turn),
            Whose::Role(role) => state.turn().map(|running| running.key).filter(|turn| turn.role == role),
        }
    }
}

/// Who speaks the protocol on a connection, until it closes.
#[async_trait]
pub trait ToolServer: Debug + Send + Sync {
    async fn serve(&self, engine: Arc<Engine>, loop_id: LoopId, whose: Whose, connection: Connection);
}

/// A connection of an agent; what it says is bounded.
#[derive(Debug)]
pub struct Connection {
    pub read: BoundedLines<OwnedReadHalf>,
    pub write: OwnedWriteHalf,
}

/// The socket; whoever drops this takes it away, and closes its connections.
#[derive(Debug)]
pub(crate) struct ToolSocket {
    _socket: OwnSocket,
}

impl ToolSocket {
    /// `None` where this process has nobody who speaks the protocol.
    pub(crate) fn open(
        engine: &Arc<Engine>,
        loop_id: &LoopId,
        whose: Whose,
    ) -> Result<Option<ToolSocket>, EngineError> {
        let Some(speaker) = engine.tool_server() else { return Ok(None) };
        let path = engine.data.tool_socket(loop_id, whose.role());
        let (engine, loop_id) = (Arc::clone(engine), loop_id.clone());
        let _socket = OwnSocket::serve(&path, MOST_CONNECTIONS, move |client| {
            let (speaker, engine, loop_id) = (Arc::clone(&speaker), Arc::clone(&engine), loop_id.clone());
            let (read, write) = client.into_split();
            let connection = Connection { read: BoundedLines { inner: read, in_line: 0 }, write };
            async move { speaker.serve(engine, loop_id, whose, connection).await }
        })
        .map_err(EngineError::Socket)?;
        Ok(Some(ToolSocket { _socket }))
    }
}

/// Fails once a line is longer than a message can be.
#[derive(Debug)]
pub struct BoundedLines<R> {
    inner: R,
    /// How much of the present line has been read.
    in_line: usize,
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedLines<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buffer))?;
        let new = &buffer.filled()[before..];
        self.in_line = match new.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => new.len() - end - 1,
            None => self.in_line + new.len(),
        };
        if self.in_line > LONGEST_MESSAGE {
            buffer.set_filled(before);
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, "a message is too long")));
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    async fn read(bytes: Vec<u8>) -> io::Result<usize> {
        let mut all = Vec::new();
        BoundedLines { inner: bytes.as_slice(), in_line: 0 }.read_to_end(&mut all).await
    }

    #[tokio::test]
    async fn a_line_without_end_is_given_up_and_many_lines_are_not() {
        assert!(read(vec![b'a'; LONGEST_MESSAGE + 1]).await.is_err());
        let line = [vec![b'a'; LONGEST_MESSAGE / 2], vec![b'\n']].concat();
        assert_eq!(read(line.repeat(3)).await.unwrap(), line.len() * 3);
    }
}
