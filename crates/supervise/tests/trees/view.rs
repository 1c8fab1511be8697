//! What a process tree sees in a sandbox, mounted by the shim or by bubblewrap. Skipped if the machine has no sandbox.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::Ordering;

use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, unmount};
use windlass_supervise::{Access, LAYERS, Network, Place, SandboxPolicy, ShimSpec, probe_sandbox};

use crate::world::{SANDBOXED, World, run, system};

crate::cases![
    plain_places_are_mounted_before_bubblewrap_starts,
    bubblewrap_mounts_what_is_shown_among_the_devices,
    a_link_in_the_place_of_what_is_shown_is_not_followed,
    a_link_where_a_place_is_to_be_shown_leads_nowhere,
    what_is_gone_has_not_to_be_hidden,
    what_the_machine_mounts_during_a_turn_is_not_seen,
    changes_to_a_layered_place_stay_and_never_reach_it,
    what_is_hidden_or_read_only_is_so_below_writable_places,
];

/// The system, and these places.
fn policy(places: Vec<Place>) -> SandboxPolicy {
    let places = system().into_iter().chain(places).collect();
    SandboxPolicy { backend: probe_sandbox("").unwrap(), network: Network::Allow, places }
}

/// What a script prints that sees these places. None without a sandbox.
fn seen(world: &World, places: Vec<Place>, script: &str) -> Option<String> {
    seen_from(world, ".", places, script)
}

/// The same, from another directory.
fn seen_from(world: &World, dir: &str, places: Vec<Place>, script: &str) -> Option<String> {
    if !SANDBOXED.load(Ordering::Relaxed) {
        return None;
    }
    let spec = world.command("/bin/sh", &["-c", script]);
    let mut spec = ShimSpec { sandbox: Some(policy(places)), ..spec };
    spec.command.cwd = world.path(dir);
    let (events, record) = run(&spec);
    assert_eq!(record.leftovers, 0, "{events:?}");
    Some(String::from_utf8(world.stdout()).unwrap())
}

fn made(world: &World, name: &str) -> std::path::PathBuf {
    let path = world.path(name).canonicalize().unwrap_or_else(|_| world.path(name));
    fs::create_dir_all(&path).unwrap();
    path.canonicalize().unwrap()
}

/// Of the mount at `/`: its own root. bubblewrap makes that a directory of its own.
const ROOT: &str = r#"while read -r _ _ _ root at _; do [ "$at" = / ] && echo "$root"; done </proc/self/mountinfo"#;

fn own(world: &World) -> Place {
    Place::new(made(world, "."), Access::Writable)
}

/// Mounting all that is below a place read-only came with Linux 5.12.
fn kernel_mounts_trees() -> bool {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|number| number.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(5), Some(12))
}

fn plain_places_are_mounted_before_bubblewrap_starts() {
    let world = World::new();
    let Some(said) = seen(&world, vec![own(&world)], ROOT) else { return };
    if kernel_mounts_trees() {
        assert_eq!(said, "/\n");
    } else {
        eprintln!("SKIPPED: Linux before 5.12");
    }
}

/// As on a kernel that cannot mount whole trees.
fn bubblewrap_mounts_what_is_shown_among_the_devices() {
    let world = World::new();
    let [real, outside] = ["real", "outside"].map(|name| made(&world, name));
    fs::write(real.join("file"), "found\n").unwrap();
    let sealed = made(&world, "sealed");
    let places = vec![
        own(&world),
        Place { from: Some(real), ..Place::new("/dev/shown", Access::ReadOnly) },
        Place::new(sealed.clone(), Access::ReadOnly),
        Place::new(outside, Access::HiddenDir),
    ];
    let script = format!(
        "{ROOT}; cat /dev/shown/file; echo x 2>/dev/null >sealed/x || echo sealed; grep CapEff /proc/self/status"
    );
    let Some(said) = seen(&world, places, &script) else { return };
    let capabilities = if rustix::process::geteuid().is_root() { "000000000000000b" } else { "0000000000000000" };
    assert_eq!(said, format!("/newroot\nfound\nsealed\nCapEff:\t{capabilities}\n"));
    assert_eq!(fs::read_dir(sealed).unwrap().count(), 0);
}

fn a_link_in_the_place_of_what_is_shown_is_not_followed() {
    // What may be written, or protects something, must be what it was; what is only shown may be gone.
    for (access, elsewhere, expected) in
        [(Access::ReadOnly, false, "started\n"), (Access::ReadOnly, true, ""), (Access::Writable, true, "")]
    {
        let world = World::new();
        let real = made(&world, "real");
        fs::write(real.join("file"), "found\n").unwrap();
        let link = made(&world, ".").join("link");
        symlink(&real, &link).unwrap();
        let shown = match elsewhere {
            true => Place { from: Some(link.clone()), ..Place::new("/shown", access) },
            false => Place::new(link.clone(), access),
        };
        let places = vec![Place::new(made(&world, "cwd"), Access::Writable), shown];
        let script = format!("echo started; cat {}/file /shown/file 2>/dev/null", link.display());
        let Some(said) = seen_from(&world, "cwd", places, &script) else { return };
        assert_eq!(said, expected, "{access:?}");
    }
}

fn a_link_where_a_place_is_to_be_shown_leads_nowhere() {
    let world = World::new();
    let (home, tools) = (made(&world, "home"), made(&world, "tools"));
    // Not where the view is mounted, which covers it.
    let elsewhere = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    fs::write(tools.join("tool"), "tool").unwrap();
    // As a process of an earlier turn could have made it.
    symlink(elsewhere.path().canonicalize().unwrap(), home.join("tools")).unwrap();
    let places = vec![
        Place::new(made(&world, "cwd"), Access::Writable),
        Place { from: Some(home), ..Place::new("/home/me", Access::Writable) },
        Place { from: Some(tools), ..Place::new("/home/me/tools/deep/place", Access::ReadOnly) },
    ];
    let Some(said) = seen_from(&world, "cwd", places, "cat /home/me/tools/deep/place/tool") else { return };
    assert_eq!(said, "");
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0, "something was made where the link leads");
}

fn what_is_gone_has_not_to_be_hidden() {
    let world = World::new();
    let shown = made(&world, "shown");
    let places = vec![
        Place::new(made(&world, "cwd"), Access::Writable),
        Place::new(shown.clone(), Access::ReadOnly),
        Place::new(shown.join("file"), Access::HiddenFile),
        Place::new(shown.join("directory"), Access::HiddenDir),
    ];
    let Some(said) = seen_from(&world, "cwd", places, "echo started") else { return };
    assert_eq!(said, "started\n");
    assert_eq!(fs::read_dir(shown).unwrap().count(), 0);
}

/// A mount that tells those made from it what is mounted in it later, as all are on most machines.
struct Shared(std::path::PathBuf);

impl Shared {
    fn at(path: std::path::PathBuf) -> Self {
        mount(c"tmpfs", &path, c"tmpfs", MountFlags::NOSUID, None).unwrap();
        let shared = Self(path);
        mount_change(&shared.0, MountPropagationFlags::SHARED).unwrap();
        shared
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let _ = unmount(&self.0, UnmountFlags::DETACH);
    }
}

fn what_the_machine_mounts_during_a_turn_is_not_seen() {
    if !rustix::process::geteuid().is_root() || !kernel_mounts_trees() {
        eprintln!("SKIPPED: only root can mount, and before Linux 5.12 bubblewrap does");
        return;
    }
    let world = World::new();
    let shared = Shared::at(made(&world, "shared"));
    let places = vec![Place::new(made(&world, "cwd"), Access::Writable), Place::new(&shared.0, Access::ReadOnly)];
    let script = format!("grep ' {} ' /proc/self/mountinfo", shared.0.display());
    let Some(said) = seen_from(&world, "cwd", places, &script) else { return };
    assert!(said.contains(" ro,") && !said.contains("master:") && !said.contains("shared:"), "{said}");
}

fn changes_to_a_layered_place_stay_and_never_reach_it() {
    let world = World::new();
    let cache = made(&world, "cache");
    fs::write(cache.join("file"), "real").unwrap();
    let kept = made(&world, "kept");
    for name in LAYERS {
        made(&world, &format!("kept/{name}"));
    }
    let layered = Place { from: Some(kept), ..Place::new(cache.clone(), Access::Layered) };
    let script = format!("cat {0}/file; echo changed >{0}/file", cache.display());
    let Some(said) = seen(&world, vec![own(&world), layered.clone()], &script) else { return };
    assert_eq!(said, "real");
    for _ in 0..2 {
        let again = World::new();
        let said = seen(&again, vec![own(&again), layered.clone()], &format!("cat {}/file", cache.display()));
        assert_eq!(said.as_deref(), Some("changed\n"));
    }
    assert_eq!(fs::read_to_string(Path::new(&cache).join("file")).unwrap(), "real");
}

fn what_is_hidden_or_read_only_is_so_below_writable_places() {
    let world = World::new();
    let [dir, secret] = ["dir", "dir/secret"].map(|name| made(&world, name));
    fs::write(secret.join("key"), "key").unwrap();
    fs::write(dir.join("sealed"), "sealed").unwrap();
    fs::write(dir.join("gone"), "gone").unwrap();
    let places = vec![
        own(&world),
        Place::new(secret, Access::HiddenDir),
        Place::new(dir.join("sealed"), Access::ReadOnly),
        Place::new(dir.join("gone"), Access::HiddenFile),
        Place::new("/not/there", Access::ReadOnly),
    ];
    let script = "cd dir; ls -A secret; cat gone; for file in secret/new sealed gone /usr/new /new; do \
                  echo x 2>/dev/null >$file && echo $file; done; cat sealed; echo x >new && cat new";
    let Some(said) = seen(&world, places, script) else { return };
    assert_eq!(said, "sealedx\n");
    assert!(!dir.join("secret/new").exists() && dir.join("new").exists());
}
