//! The bridge of a sandbox without a network: a process inside that listens on the sandbox's own loopback and carries
//! each connection to the proxy's Unix socket outside.
//!
//! It is a child of the reaper, which does not count it as one of the agent's. It decides nothing, so it does not matter
//! that the agent could end it: without it nothing is reached.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsRawFd;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpStream, UnixStream};

use crate::sandbox::Network;
use crate::sys::{self, Forked};

/// The listener inside, and its target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Bridge {
    socket: std::path::PathBuf,
    proxy_port: u16,
    /// Ports of the machine's own address that are reached as if they were the sandbox's.
    local_ports: Vec<u16>,
}

impl Bridge {
    pub(super) fn of(network: &Network) -> Option<Self> {
        match network {
            Network::Allow | Network::Deny => None,
            Network::List { socket, proxy_port, local_ports } => {
                Some(Self { socket: socket.clone(), proxy_port: *proxy_port, local_ports: local_ports.clone() })
            }
        }
    }

    /// Starts it. When this returns the ports are open, so that the agent finds them.
    pub(super) fn start(&self) -> io::Result<i32> {
        let bind = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        let proxy = bind(self.proxy_port)?;
        let mut locals = Vec::new();
        for port in self.local_ports.iter().filter(|port| **port != self.proxy_port) {
            locals.push((*port, bind(*port)?));
        }
        match sys::fork()? {
            Forked::Parent { child } => Ok(child),
            Forked::Child => {
                let _ = rustix::thread::set_name(c"windlass-bridge");
                let mut keep: Vec<_> = (0..3).chain([proxy.as_raw_fd()]).collect();
                keep.extend(locals.iter().map(|(_, listener)| listener.as_raw_fd()));
                keep.sort_unstable();
                sys::close_all_but(&keep);
                // These signals ask the agent to exit; it may need the network for its last message.
                sys::ignore_signals(&[libc::SIGTERM, libc::SIGINT, libc::SIGHUP]);
                let _ = run(&self.socket, proxy, locals);
                sys::exit_now(1)
            }
        }
    }
}

fn run(socket: &Path, proxy: TcpListener, locals: Vec<(u16, TcpListener)>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        for (port, listener) in locals {
            let socket = socket.to_owned();
            let listener = asynchronous(listener)?;
            tokio::spawn(async move { accept(&listener, &socket, Some(port)).await });
        }
        accept(&asynchronous(proxy)?, socket, None).await;
        Ok(())
    })
}

fn asynchronous(listener: TcpListener) -> io::Result<tokio::net::TcpListener> {
    listener.set_nonblocking(true)?;
    tokio::net::TcpListener::from_std(listener)
}

async fn accept(listener: &tokio::net::TcpListener, socket: &Path, local_port: Option<u16>) {
    loop {
        // Too many files at once pass.
        let Ok((client, _)) = listener.accept().await else {
            tokio::task::yield_now().await;
            continue;
        };
        let socket = socket.to_owned();
        tokio::spawn(async move {
            let _ = carry(client, &socket, local_port).await;
        });
    }
}

async fn carry(mut client: TcpStream, socket: &Path, local_port: Option<u16>) -> io::Result<()> {
    let mut proxy = UnixStream::connect(socket).await?;
    if let Some(port) = local_port {
        proxy.write_all(format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n").as_bytes()).await?;
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            answer.push(proxy.read_u8().await?);
        }
        if !answer.starts_with(b"HTTP/1.1 200") {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
    }
    copy_bidirectional(&mut client, &mut proxy).await.map(drop)
}
