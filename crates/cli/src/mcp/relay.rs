//! `windlass mcp` inside a turn: bytes between standard input and output and the socket of the turn's tools.
//!
//! It opens nothing else, so that it works where this program's data cannot be seen.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use windlass_engine::tools::SOCKET_VARIABLE;

use crate::exit::Exit;
use crate::failure::Failure;

/// The socket of the turn that this process was started in.
pub fn socket() -> Option<PathBuf> {
    std::env::var_os(SOCKET_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Carries until the driver closes the connection, which it also does when nothing can come from here any more.
pub fn relay(socket: &Path) -> Result<Exit, Failure> {
    let mut from_driver = UnixStream::connect(socket).map_err(|error| Failure {
        exit: Exit::Failed,
        message: "the turn of these tools has ended or has not started".to_owned(),
        causes: vec![format!("{}: {error}", socket.display())],
        hint: Some("end your turn; outside of loops, unset WINDLASS_MCP_SOCKET".to_owned()),
    })?;
    let mut to_driver = from_driver.try_clone()?;
    std::thread::spawn(move || {
        // An agent that is gone and a driver that is gone end alike.
        let _ = carry(&mut io::stdin().lock(), &mut to_driver);
        let _ = to_driver.shutdown(Shutdown::Write);
    });
    let mut stdout = io::stdout().lock();
    // Who no longer reads wants nothing.
    let _ = carry(&mut from_driver, &mut stdout);
    Ok(Exit::Completed)
}

/// Every piece at once: `io::copy` lets the kernel do it, which may wait for more.
fn carry(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut piece = vec![0; 64 * 1024];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(length) => {
                to.write_all(&piece[..length])?;
                to.flush()?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
