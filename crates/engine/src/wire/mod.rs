//! Sockets and requests: how processes of this program reach each other, and other servers.

pub mod http;
pub(crate) mod own_socket;
pub mod socket;
