//! How this machine is logged in on a server: a link's code is exchanged once, and the session is kept in a file.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use windlass_app::{Context, Kind, Problem};
use windlass_server::{
    Client, ClientError, LogIn, LoggedIn, LoggedOut, TOKEN, fingerprint, read_private, write_private,
};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::style::json_line;
use crate::terminal::print;

/// The file of a server, for its owner only.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    address: String,
    id: String,
    secret: String,
    /// The fingerprint of the code that opened it, so that the same link can be given again.
    code: String,
}

/// A server, and what this machine knows of it.
#[derive(Debug)]
pub struct Place {
    address: String,
    /// The code in the link, if there is one.
    code: Option<String>,
    file: PathBuf,
    token: Option<String>,
}

impl Place {
    pub fn of(context: &Context, server: &str) -> Result<Self, Failure> {
        let (address, code) = Client::parse(server)?;
        let name: String = address.chars().map(|one| if one.is_ascii_alphanumeric() { one } else { '-' }).collect();
        let file = context.paths.data.join("servers").join(format!("{name}.json"));
        let token = context.env.texts().into_iter().find(|(name, value)| name == TOKEN && !value.is_empty());
        Ok(Self { address, code, file, token: token.map(|(_, value)| value) })
    }

    fn kept(&self) -> Result<Option<Kept>, Failure> {
        let Some(text) = read_private(&self.file)? else { return Ok(None) };
        Ok(serde_json::from_str(&text).ok().filter(|kept: &Kept| kept.address == self.address))
    }

    /// The code in the link if it is new, else the token of the environment, else the session that is kept.
    pub async fn client(&self) -> Result<Client, Failure> {
        let kept = self.kept()?;
        let secret = kept.as_ref().map_or("", |kept| kept.secret.as_str());
        match (&self.code, &self.token) {
            (Some(code), _) if kept.as_ref().is_none_or(|kept| kept.code != fingerprint(code)) => {
                self.log_in(code, secret).await
            }
            (None, Some(token)) => Ok(Client::new(&self.address, token)?),
            _ => Ok(Client::new(&self.address, secret)?),
        }
    }

    /// `old` is a session that the new one replaces.
    async fn log_in(&self, code: &str, old: &str) -> Result<Client, Failure> {
        let name = format!("windlass on {}", rustix::system::uname().nodename().to_string_lossy());
        let request = LogIn { code: code.to_owned(), name: Some(name) };
        let session: LoggedIn = Client::new(&self.address, old)?.post("/api/login", &request).await?;
        let kept =
            Kept { address: self.address.clone(), id: session.id, secret: session.secret, code: fingerprint(code) };
        if let Some(dir) = self.file.parent() {
            use std::os::unix::fs::DirBuilderExt;
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        }
        write_private(&self.file, &serde_json::to_string(&kept).unwrap_or_default())?;
        Ok(Client::new(&self.address, &kept.secret)?)
    }

    /// Ends the session there and forgets it here.
    pub async fn log_out(&self, json: bool) -> Result<Exit, Failure> {
        let Some(kept) = self.kept()? else {
            return Err(Failure::usage(
                format!("this machine has no session on {}", self.address),
                "list the sessions of a server with `windlass serve sessions` on its machine",
            ));
        };
        let ended: Result<LoggedOut, ClientError> =
            Client::new(&self.address, &kept.secret)?.post("/api/logout", &()).await;
        let already =
            |error: &ClientError| matches!(error, ClientError::Refused(problem) if problem.code == Kind::Unauthorized);
        match ended {
            Err(error) if !already(&error) => return Err(error.into()),
            Ok(_) | Err(_) => std::fs::remove_file(&self.file)?,
        }
        match json {
            true => print(&json_line(&serde_json::json!([{ "id": kept.id, "server": self.address }]))),
            false => print(&format!("logged out of {}\n", self.address)),
        }
        Ok(Exit::Completed)
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        Problem::from(error).into()
    }
}
