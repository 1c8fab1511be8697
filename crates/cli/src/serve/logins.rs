//! `windlass serve link`, `sessions` and `logout`: who may use the server of this data directory.
//!
//! They change the file that the server reads, so revoking works whether or not one runs.

use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::json;
use windlass_server::{CODE_MINUTES, Logins, Running, Session, Which};

use crate::args::{ServeCommand, SessionsArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::style::json_line;
use crate::terminal::print;

pub fn perform(data: &Path, command: &ServeCommand) -> Result<Exit, Failure> {
    let logins = Logins::of(data);
    match command {
        ServeCommand::Link { json } => link(data, &logins, *json)?,
        ServeCommand::Sessions(args) => sessions(&logins, args)?,
        ServeCommand::Logout { json } => {
            let ended = logins.revoke(&Which::All, Timestamp::now())?;
            show_ended(&ended, *json);
        }
    }
    Ok(Exit::Completed)
}

/// The address with a code that logs one browser in. The code is in the fragment, which browsers send to no server.
pub fn address_with_code(url: &str, code: &str) -> String {
    format!("{url}/#code={code}")
}

fn link(data: &Path, logins: &Logins, json: bool) -> Result<(), Failure> {
    let Some(running) = Running::find(data) else {
        return Err(Failure::usage(
            format!("no server is running for {}", data.display()),
            "start one with `windlass serve`; it prints a link",
        ));
    };
    let code = logins.new_code(Timestamp::now())?;
    let link = address_with_code(&running.url, &code.text);
    if json {
        print(&json_line(&json!({ "link": link, "expires_at": code.expires_at })));
    } else {
        print(&format!("{link}\n"));
        eprintln!("This link works once, within {CODE_MINUTES} minutes.");
    }
    Ok(())
}

fn sessions(logins: &Logins, args: &SessionsArgs) -> Result<(), Failure> {
    let now = Timestamp::now();
    let which = match (&args.revoke, args.all) {
        (Some(Some(id)), false) => Which::One(id.clone()),
        (Some(None) | None, true) => Which::All,
        (Some(Some(_)), true) => {
            return Err(Failure::usage("both a session ID and --all given", "use one of them"));
        }
        (Some(None), false) => {
            return Err(Failure::usage("--revoke requires a session ID or --all", "pass a session ID, or --all"));
        }
        (None, false) => {
            show(&logins.sessions(now)?, args.json);
            return Ok(());
        }
    };
    let ended = logins.revoke(&which, now)?;
    if let (Which::One(id), true) = (&which, ended.is_empty()) {
        return Err(Failure::usage(
            format!("no session has the ID '{}'", crate::style::one_line(id, 40)),
            "list them with `windlass serve sessions`",
        ));
    }
    show_ended(&ended, args.json);
    Ok(())
}

fn show(sessions: &[Session], json: bool) {
    if json {
        print(&json_line(&json!(sessions)));
    } else if sessions.is_empty() {
        print("nobody is logged in; create a login link with `windlass serve link`\n");
    } else {
        let width = sessions.iter().map(|session| session.name.chars().count()).max().unwrap_or(0);
        let mut text = format!("{:<8}  {:<width$}  {:<16}  LAST USED\n", "ID", "NAME", "LOGGED IN");
        for Session { id, name, created_at, used_at } in sessions {
            let name = crate::style::safe(name);
            text.push_str(&format!("{id:<8}  {name:<width$}  {}  {}\n", minute(*created_at), minute(*used_at)));
        }
        print(&text);
    }
}

fn show_ended(ended: &[Session], json: bool) {
    if json {
        print(&json_line(&json!(ended)));
    } else if ended.is_empty() {
        print("nobody was logged in\n");
    } else {
        ended.iter().for_each(|session| print(&format!("logged out {} ({})\n", session.name, session.id)));
    }
}

fn minute(at: Timestamp) -> String {
    at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}
