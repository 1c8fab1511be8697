//! Many loops at once in one process, all of them inside a turn: what each of them costs in memory.
//!
//! Invariant: counted is what nobody shares, of the engine and of every process it starts for a loop, without the
//! agent itself. The loops are ended through the engine, and the world ends whatever is left.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use windlass_engine::clock::SystemClock;
use windlass_engine::config::{self, Environment, Options, Paths, RunOptions, resolve_spec};
use windlass_engine::data::DataDir;
use windlass_engine::engine::Engine;
use windlass_engine::loops::NewLoop;
use windlass_engine::trust;
use windlass_store::{Access, SqliteStore};
use windlass_supervise::Launcher;
use windlass_testkit::World;
use windlass_workspace::Workspaces;

use crate::Scale;
use crate::memory::{descendants, private_kb};
use crate::place::{myself, repository, windlass};
use crate::report::Row;

/// Longer than measuring takes; the world ends it in any case.
const AGENT: &str = "sleep 900";
const MOST_MB: f64 = 0.7;

pub fn rows(scale: Scale) -> Vec<Row> {
    let loops = scale.of(500, 3);
    let world = World::new();
    let repo = repository(&world, "shared", 1);
    let by_bash = bash_kb(&world);
    let mut command = world.command(myself());
    command.current_dir(repo.path()).args(["drive-many", &loops.to_string()]).stdin(Stdio::null());
    let output = command.stderr(Stdio::inherit()).output().expect("it starts");
    assert!(output.status.success(), "{}", output.status);
    let said = String::from_utf8_lossy(&output.stdout);
    let mut numbers = said.split_whitespace().map(|word| word.parse::<f64>().expect("a number"));
    let (engine, helpers) = (numbers.next().expect("the engine's"), numbers.next().expect("the helpers'"));
    let each = (engine + helpers) / 1024.0;
    let ratio = (engine + helpers) / by_bash;
    vec![Row {
        what: format!("{loops} loops at once in one process, private memory of each"),
        reference: format!("a bash `while` loop: {:.2} MB", by_bash / 1024.0),
        ours: format!("{each:.2} MB (engine {:.2}, its helpers {:.2})", engine / 1024.0, helpers / 1024.0),
        ratio,
        spread: (ratio, ratio),
        count: 1,
        aim: format!("≤ {MOST_MB} MB"),
        met: each <= MOST_MB,
    }]
}

/// What one bash that waits for the same agent holds.
fn bash_kb(world: &World) -> f64 {
    let mut command = world.command("bash");
    command.args(["-c", &format!("while :; do echo ready; {AGENT}; done")]).stdout(Stdio::piped());
    let mut child = command.spawn().expect("bash starts");
    let mut ready = String::new();
    BufReader::new(child.stdout.take().expect("it is piped")).read_line(&mut ready).expect("bash says so");
    let private = private_kb(child.id()).expect("it runs");
    child.kill().expect("it is our child");
    child.wait().expect("it is our child");
    private as f64
}

/// The process that drives them. Says what each loop costs in KB: in this process, and in its helpers.
pub fn drive_many(words: &[String]) {
    let count: usize = words.first().and_then(|word| word.parse().ok()).expect("how many loops");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let (engine, helpers) = runtime.block_on(drive(count));
    println!("{engine} {helpers}");
}

async fn drive(count: usize) -> (f64, f64) {
    let cwd = std::env::current_dir().expect("there is one");
    let env = Environment::new(std::env::vars_os());
    let paths = Paths::from_env(&env, &cwd).expect("the world says where");
    let data = DataDir::at(&paths.data);
    let texts: BTreeMap<String, String> = env.texts();
    let engine = Arc::new(Engine::new(
        Arc::new(SqliteStore::open(data.database(), Access::ReadWrite).expect("it opens")),
        data,
        Arc::new(SystemClock),
        Launcher::new(windlass()),
        Workspaces::from_env().expect("git is there"),
        texts,
        PathBuf::from(windlass()),
    ));
    let (leave, asked) = watch::channel(false);
    let own = std::process::id();
    let mut driving = Vec::new();
    let mut before = 0;
    // The first loop loads what all of them share, so it is not counted.
    for number in 0..=count {
        let settings = config::load(&paths, Some(&cwd), &env, Options::default()).expect("there are defaults");
        let name = format!("loop-{number}");
        let options = RunOptions {
            goal: "wait".to_owned(),
            name: name.clone(),
            agent_command: Some(AGENT.to_owned()),
            cwd: cwd.clone(),
            project_root: cwd.clone(),
            ..RunOptions::default()
        };
        let spec = resolve_spec(&settings, &options).expect("a plain loop").spec;
        let demands = trust::of_loop(&engine.data, &engine.workspaces, &cwd, &settings, &spec).await;
        let new = NewLoop {
            id: None,
            project: cwd.clone(),
            name,
            numbered: false,
            spec,
            branch_template: "windlass/{name}".to_owned(),
            consent: demands.expect("git answers").granted().expect("nothing is demanded"),
        };
        let held = engine.create(new).await.expect("it is new");
        driving.push(engine.drive(held, asked.clone()).expect("it is driven"));
        if number == 0 {
            agents_run(1).await;
            before = private_kb(own).expect("it runs");
        }
    }
    agents_run(count + 1).await;
    let after = private_kb(own).expect("it runs");
    let helpers: Vec<(u32, String)> = descendants(own).into_iter().filter(|(_, name)| name != "sleep").collect();
    let private: u64 = helpers.iter().filter_map(|(pid, _)| private_kb(*pid)).sum();
    leave.send_replace(true);
    for one in driving {
        one.ended().await.expect("it leaves");
    }
    let each = after.saturating_sub(before) as f64 / count as f64;
    (each, private as f64 / (count + 1) as f64)
}

/// Returns once so many agents run, and the engine has heard of them.
async fn agents_run(count: usize) {
    let deadline = Instant::now() + Duration::from_secs(120);
    loop {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let found = descendants(std::process::id()).iter().filter(|(_, name)| name == "sleep").count();
        if found >= count {
            return;
        }
        assert!(Instant::now() < deadline, "only {found} of {count} agents run");
    }
}
