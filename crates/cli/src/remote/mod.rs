//! The server that `--server` names, as the place where requests run.

mod session;

use std::sync::Arc;

use windlass_app::{App, Context};

use crate::args::{Command, ServeArgs, ServeCommand};
use crate::exit::Exit;
use crate::failure::Failure;

/// What there is to do with a server.
#[derive(Debug)]
pub enum Connected {
    App(App),
    /// The command was about the connection itself.
    Done(Exit),
}

pub async fn connect(context: &Context, server: &str, command: &Command) -> Result<Connected, Failure> {
    let place = session::Place::of(context, server)?;
    if let Command::Serve(ServeArgs { command: Some(ServeCommand::Logout { json }), .. }) = command {
        return Ok(Connected::Done(place.log_out(*json).await?));
    }
    Ok(Connected::App(App::There(Arc::new(place.client().await?))))
}
