//! Recording what a CLI prints: stdout as it is in `CASE.jsonl`, stderr in `CASE.stderr` if there is any, and how it
//! was started and ended in `CASE.meta.json`.
//!
//! Invariant: every run has its own world (a resumed one that of the run before it), a time limit, and leaves no
//! process behind.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use windlass_testkit::World;
use windlass_testkit::clis::{Cli, Session, cache_dir};
use windlass_testkit::model::ModelServer;

use crate::cases::{CASES, Case, Start};
use crate::scrub::Scrubber;

/// Long enough for the retries of each CLI except those that never give up.
const LIMIT: Duration = Duration::from_secs(150);

/// An id that no session has.
const NOBODY: &str = "7c9e6679-7425-40de-944b-e07fc1f90ae7";

pub(crate) fn record(words: &[String]) -> Result<(), String> {
    let (mut out, mut only, mut names) = (default_out(), Vec::new(), Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().cloned().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--out" => out = PathBuf::from(value()?),
            "--case" => only.push(value()?),
            _ => names.push(word.clone()),
        }
    }
    if let Some(unknown) = only.iter().find(|o| !CASES.iter().any(|c| c.name == *o)) {
        let known: Vec<&str> = CASES.iter().map(|c| c.name).collect();
        return Err(format!("no case is called {unknown}; there are {}", known.join(", ")));
    }
    for cli in crate::names(&names, &Cli::AGENTS)? {
        let program = cli.program().ok_or_else(|| format!("{} is not installed", cli.name()))?;
        record_all(cli, &program, &out.join(cli.name()), &only)?;
    }
    Ok(())
}

fn default_out() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../agents/recordings")
}

fn record_all(cli: Cli, program: &Path, out: &Path, only: &[String]) -> Result<(), String> {
    fs::create_dir_all(out).map_err(|e| format!("cannot make {}: {e}", out.display()))?;
    let mut scrubber = Scrubber::new();
    scrubber.text(&cache_dir().to_string_lossy(), "/cli");
    let mut before: Option<(World, Option<String>)> = None;
    for (at, case) in CASES.iter().enumerate() {
        let wanted = |c: &Case| only.is_empty() || only.iter().any(|o| o == c.name);
        // The case that the next one resumes must be played for it, too.
        let needed = CASES.get(at + 1).is_some_and(|next| next.start == Start::Resume && wanted(next));
        if !wanted(case) && !needed {
            continue;
        }
        let (world, session) = match (case.start, before.take()) {
            (Start::Resume, Some((world, Some(id)))) => (world, Session::Resume(id)),
            (Start::Resume, _) => return Err(format!("{}: the run before {} told no session", cli.name(), case.name)),
            (Start::Unknown, _) => (World::new(), Session::Resume(NOBODY.to_owned())),
            (Start::New, _) => (World::new(), Session::New),
        };
        scrubber.text(&world.root().to_string_lossy(), "/scratch");
        let run = play(cli, program, &world, case, &session)?;
        eprintln!("{} {}: {} after {} requests", cli.name(), case.name, run.how(), run.requests.len());
        if wanted(case) {
            run.write(cli, case, out, &mut scrubber)?;
        }
        before = Some((world, run.session()));
    }
    Ok(())
}

struct Run {
    args: Vec<String>,
    env: Value,
    stdout: String,
    stderr: String,
    status: ExitStatus,
    timed_out: bool,
    files: Vec<String>,
    requests: Vec<String>,
}

fn play(cli: Cli, program: &Path, world: &World, case: &Case, session: &Session) -> Result<Run, String> {
    let server = ModelServer::with_toml(&case.script());
    let setup = cli.setup(program, &world.home(), &server.url());
    let setup = if case.subscription { setup.on_subscription() } else { setup };
    setup.write_files();
    let args = cli.turn(case.prompt, session);
    let mut command = world.command(program);
    command.args(&args).envs(&setup.env);
    let (status, timed_out, stdout, stderr) = run_limited(command, &world.root().join("tmp"))?;
    let files = world.repo().git(["status", "--porcelain"]).lines().map(str::to_owned).collect();
    let requests = server.requests().iter().map(windlass_testkit::model::Seen::line).collect();
    let words = [program.to_string_lossy().into_owned()].into_iter().chain(args).collect();
    Ok(Run { args: words, env: json!(setup.env), stdout, stderr, status, timed_out, files, requests })
}

fn run_limited(mut command: Command, tmp: &Path) -> Result<(ExitStatus, bool, String, String), String> {
    let failed = |what: &str, e: std::io::Error| format!("{what}: {e}");
    let (out, err) = (tmp.join("recorded.stdout"), tmp.join("recorded.stderr"));
    command.stdout(File::create(&out).map_err(|e| failed("stdout", e))?);
    command.stderr(File::create(&err).map_err(|e| failed("stderr", e))?);
    let mut child = command.spawn().map_err(|e| failed("cannot start", e))?;
    let pid = Pid::from_child(&child);
    let (ended, end) = mpsc::channel();
    let waiting = std::thread::spawn(move || {
        let status = child.wait();
        let _ = ended.send(());
        status
    });
    let timed_out = end.recv_timeout(LIMIT).is_err();
    if timed_out {
        // It has not been waited for yet, or only in this instant: the pid is still its own.
        let _ = kill_process(pid, Signal::KILL);
    }
    let status = waiting.join().expect("waiting does not panic").map_err(|e| failed("wait", e))?;
    let text = |path: &Path| fs::read(path).map(|b| String::from_utf8_lossy(&b).into_owned());
    Ok((status, timed_out, text(&out).unwrap_or_default(), text(&err).unwrap_or_default()))
}

impl Run {
    fn how(&self) -> String {
        if self.timed_out { "TIMED OUT".to_owned() } else { self.status.to_string() }
    }

    /// The session that the output tells, in whichever words.
    fn session(&self) -> Option<String> {
        let lines = self.stdout.lines().filter_map(|l| serde_json::from_str::<Value>(l).ok());
        let keys = ["session_id", "thread_id", "sessionID", "sessionId"];
        let told = |v: &Value| keys.iter().find_map(|k| v[*k].as_str().map(str::to_owned));
        // pi's first line.
        let of_pi = |v: &Value| (v["type"] == "session").then(|| v["id"].as_str().map(str::to_owned)).flatten();
        lines.filter_map(|v| told(&v).or_else(|| of_pi(&v))).next_back()
    }

    fn write(&self, cli: Cli, case: &Case, out: &Path, scrubber: &mut Scrubber) -> Result<(), String> {
        let stdout = scrubber.scrub(&self.stdout);
        let stderr = scrubber.scrub(&self.stderr);
        let meta = json!({
            "agent": cli.name(), "version": cli.version(), "case": case.name, "argv": self.args, "env": self.env,
            "script": case.script(), "exit": self.status.code(), "signal": self.status.signal(),
            "timed_out": self.timed_out, "files": self.files, "requests": self.requests,
        });
        let meta = serde_json::to_string_pretty(&meta).expect("it is JSON");
        let meta = scrubber.scrub(&meta) + "\n";
        let write = |name: String, text: &str| {
            let path = out.join(name);
            fs::write(&path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))
        };
        write(format!("{}.jsonl", case.name), &stdout)?;
        write(format!("{}.meta.json", case.name), &meta)?;
        if stderr.is_empty() {
            let _ = fs::remove_file(out.join(format!("{}.stderr", case.name)));
            return Ok(());
        }
        write(format!("{}.stderr", case.name), &stderr)
    }
}
