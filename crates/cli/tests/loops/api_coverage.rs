//! Everything that can be typed can be asked of the server too, or there is a reason why not.

use windlass::args;

/// How a command is had over the API.
enum Over {
    /// A method and a path.
    Route(&'static str, &'static str),
    /// Why there is none.
    None(&'static str),
}
use Over::{None, Route};

const COMMANDS: &[(&str, Over)] = &[
    ("run", Route("post", "/api/loops")),
    ("demo", None("a loop on a throw-away repository, to be watched in a terminal")),
    ("init", Route("post", "/api/init")),
    ("list", Route("get", "/api/loops")),
    ("top", Route("get", "/api/events")),
    ("status", Route("get", "/api/loops/{id}")),
    ("logs", Route("get", "/api/loops/{id}/events")),
    ("stop", Route("post", "/api/loops/{id}/stop")),
    ("pause", Route("post", "/api/loops/{id}/pause")),
    ("resume", Route("post", "/api/loops/{id}/resume")),
    ("restart", Route("post", "/api/loops/{id}/restart")),
    ("continue", Route("post", "/api/loops/{id}/continue")),
    ("fork", Route("post", "/api/loops/{id}/fork")),
    ("compare", Route("get", "/api/loops/compare")),
    ("steer", Route("post", "/api/loops/{id}/steer")),
    ("answer", Route("post", "/api/loops/{id}/answer")),
    ("approve", Route("post", "/api/loops/{id}/approve")),
    ("reject", Route("post", "/api/loops/{id}/reject")),
    ("findings", Route("get", "/api/loops/{id}/findings")),
    ("takeover", Route("post", "/api/loops/{id}/takeover")),
    ("milestone add", Route("post", "/api/milestones")),
    ("milestone list", Route("get", "/api/milestones")),
    ("milestone show", Route("get", "/api/milestones/{id}")),
    ("milestone start", Route("post", "/api/milestones/{id}/start")),
    ("queue add", Route("post", "/api/queue")),
    ("queue list", Route("get", "/api/queue")),
    ("queue move", Route("post", "/api/queue/{id}/move")),
    ("queue remove", Route("post", "/api/queue/{id}/remove")),
    ("queue start", None("the server works the queue off without being asked")),
    ("diff", Route("get", "/api/loops/{id}/patch")),
    ("rollback", Route("post", "/api/loops/{id}/rollback")),
    ("merge", Route("post", "/api/loops/{id}/merge")),
    ("minimise", Route("post", "/api/loops/{id}/minimise")),
    ("clean", Route("post", "/api/clean")),
    ("pr", Route("post", "/api/loops/{id}/pr")),
    ("report", Route("get", "/api/report")),
    ("proof", Route("get", "/api/loops/{id}/proof")),
    ("verify", Route("post", "/api/verify")),
    ("agents", Route("get", "/api/agents")),
    ("agents add", Route("post", "/api/agents/add")),
    ("doctor", Route("get", "/api/doctor")),
    ("trust", Route("post", "/api/trust")),
    ("serve", None("it is the server")),
    ("serve link", None("only the owner of the server's data directory lets anybody in")),
    ("serve sessions", None("only the owner of the server's data directory sees and ends all logins")),
    ("serve logout", Route("post", "/api/logout")),
    ("fleet", None("it is a program of its own, for many machines")),
    ("worker", None("it is a program of its own, for many machines")),
    ("mcp", None("it speaks over standard input and output with the program that started it")),
    ("config show", Route("get", "/api/settings")),
    ("config get", Route("get", "/api/settings")),
    ("config set", Route("put", "/api/settings/{layer}")),
    ("config unset", Route("put", "/api/settings/{layer}")),
    ("config edit", None("it opens an editor in this terminal")),
    ("config path", Route("get", "/api/settings")),
    ("config schema", Route("get", "/api/settings/schema")),
    ("recipe list", Route("get", "/api/recipes")),
    ("recipe show", Route("get", "/api/recipes/{name}")),
    ("recipe check", Route("post", "/api/recipes/check")),
    ("completions", None("they are for the shell of this machine")),
    ("man", None("they are for this machine")),
    ("escape-attempts", None("hidden: Windlass starts it itself")),
    ("drive", None("hidden: Windlass starts it itself")),
    ("demo-agent", None("hidden: Windlass starts it itself")),
];

/// Flags that mean the machine they are typed on, and why.
const FLAGS_OF_THIS_MACHINE: &[(&str, &str, &str)] = &[
    (
        "doctor",
        "sandbox",
        "it tries to break out of a sandbox, which takes a while and puts bait into the home directory",
    ),
    ("doctor", "call", "it may cost money, and has a route of its own: /api/agents/call"),
    ("logs", "raw", "bytes as they came: /api/loops/{id}/turns/{turn}/stdout has those of a turn"),
];

#[test]
fn flags_that_no_route_takes_are_there_and_have_a_reason() {
    for (command, flag, reason) in FLAGS_OF_THIS_MACHINE {
        let definition = args::definition();
        let found = definition.find_subcommand(command).expect(command);
        assert!(found.get_arguments().any(|argument| argument.get_long() == Some(*flag)), "{command} --{flag}");
        assert!(!reason.is_empty());
    }
}

fn leaves(command: &clap::Command, before: &str, found: &mut Vec<String>) {
    for sub in command.get_subcommands() {
        let name = format!("{before}{}", sub.get_name());
        if !sub.is_subcommand_required_set() {
            found.push(name.clone());
        }
        leaves(sub, &format!("{name} "), found);
    }
}

#[test]
// promise: api-1
fn every_command_has_a_route_or_a_reason() {
    let mut typed = Vec::new();
    leaves(&args::definition(), "", &mut typed);
    let listed: Vec<&str> = COMMANDS.iter().map(|(name, _)| *name).collect();
    assert_eq!(typed, listed, "say above how the new command is had over the API");
    let document: serde_json::Value = serde_json::from_str(&windlass_server::openapi()).unwrap();
    for (name, over) in COMMANDS {
        match over {
            Route(method, path) => assert!(document["paths"][path][method].is_object(), "{name}: {method} {path}"),
            None(reason) => assert!(!reason.is_empty(), "{name}"),
        }
    }
}
