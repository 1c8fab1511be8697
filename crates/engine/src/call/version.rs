//! What an agent's program says of its version, asked in a sandbox wherever this machine has one.
//!
//! An agent may have replaced its program in a turn, and a repository may have named it: neither runs with the user's rights
//! because somebody looks. It finds copies of its settings, no login and no network, and what it writes is gone with it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use windlass_agents::{OwnPlace, PlaceKind};
use windlass_core::profile::AgentProfile;
use windlass_core::sandbox::{NetworkAccess, SandboxLevel, SandboxSpec};
use windlass_process::{CommandSpec, Stdin};
use windlass_supervise::{ContainmentRequest, Ended, Launcher, ProcessEvent, ShimSpec, TreeLimits};

use crate::data::{DataDir, TurnFiles, private_dir};
use crate::sandbox::{Confined, Ground};

/// One that is slower says nothing.
const LONGEST: Duration = Duration::from_secs(10);
const LARGEST: u64 = 64 << 10;

/// Whose version is requested.
#[derive(Debug)]
pub struct VersionProbe<'a> {
    pub launcher: &'a Launcher,
    pub program: &'a Path,
    pub profile: &'a AgentProfile,
    /// The environment of the agent.
    pub env: BTreeMap<String, String>,
    /// Whether there is a sandbox on this machine.
    pub confined: bool,
}

/// What the program prints of its version, if it does so soon.
pub async fn version(probe: VersionProbe<'_>) -> Option<String> {
    let place = tempfile::Builder::new().prefix("windlass-version-").tempdir().ok()?;
    let root = place.path().canonicalize().ok()?;
    let files = TurnFiles { dir: root.clone() };
    let spec = prepare(probe.program, probe.profile, probe.env, probe.confined, &files)
        .inspect_err(|error| tracing::debug!(%error, program = %probe.program.display(), "cannot query the version"));
    let mut running = probe.launcher.start(&spec.ok()?).await.ok()?;
    let deadline = tokio::time::sleep(LONGEST);
    tokio::pin!(deadline);
    let (mut ended, mut late) = (None, false);
    loop {
        tokio::select! {
            event = running.next() => match event {
                Some(ProcessEvent::Closed(record)) => ended = Some(record.ended),
                Some(_) => {}
                None => break,
            },
            () = &mut deadline, if !late => { late = true; running.kill(); }
        }
    }
    let read = |path| std::fs::read(path).unwrap_or_default();
    // Some print it there, such as pi.
    let said = Some(read(files.stdout())).filter(|said| !said.trim_ascii().is_empty());
    let said = said.unwrap_or_else(|| read(files.stderr()));
    if let Err(error) = windlass_workspace::remove_tree(&root) {
        tracing::debug!(%error, "cannot remove the directory of a version probe");
    }
    let text = windlass_agents::plain_text(&String::from_utf8_lossy(&said)).trim().to_owned();
    (ended == Some(Ended::Exited { code: 0 }) && !late && !text.is_empty()).then_some(text)
}

fn prepare(
    program: &Path,
    profile: &AgentProfile,
    env: BTreeMap<String, String>,
    confined: bool,
    files: &TurnFiles,
) -> Result<ShimSpec, Box<dyn std::error::Error + Send + Sync>> {
    let (data, dir) = (DataDir::at(files.dir.join("data")), files.dir.join("empty"));
    for path in [data.root(), &dir] {
        private_dir(path)?;
    }
    let own_places = unchanged(windlass_agents::own_places(profile, &env, &dir));
    let mut command = CommandSpec {
        program: program.to_string_lossy().into_owned(),
        args: windlass_agents::version_args(profile),
        env: env.clone(),
        cwd: dir.clone(),
        stdin: Stdin::Null,
    };
    let level = if confined { SandboxLevel::ReadOnly } else { SandboxLevel::Off };
    let spec = SandboxSpec { level, network: NetworkAccess::Deny, ..SandboxSpec::default() };
    let what = Confined {
        who: "version",
        writes: false,
        dir: &dir,
        judge: None,
        files: &files.dir,
        shown: Vec::new(),
        result: None,
        own_places,
        credentials: false,
    };
    let sandbox = Ground::alone(&data, &env, "version", &spec).confine(&mut command, what)?;
    Ok(ShimSpec {
        command,
        stdout: files.stdout(),
        stderr: files.stderr(),
        times: None,
        exit_record: files.exit_record(),
        secrets: Vec::new(),
        cap_bytes: Some(LARGEST),
        grace_ms: ShimSpec::DEFAULT_GRACE_MS,
        containment: ContainmentRequest::Auto,
        sandbox,
        limits: TreeLimits::default(),
    })
}

/// Of an agent's places those that change nothing of the user's: neither its sessions nor its login.
fn unchanged(places: Vec<OwnPlace>) -> Vec<OwnPlace> {
    let changes = |kind| match kind {
        PlaceKind::Kept | PlaceKind::Login => true,
        PlaceKind::Root | PlaceKind::Copied | PlaceKind::Shown | PlaceKind::Layered | PlaceKind::Fresh => false,
    };
    places.into_iter().filter(|place| !changes(place.kind)).collect()
}
