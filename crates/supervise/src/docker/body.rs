//! A policy in the words of Docker: what is requested when a container is made.
//!
//! A container sees of this machine only what is mounted into it. So what a policy hides is simply not there, unless it
//! is below something that is shown.

use std::path::Path;

use serde_json::{Value, json};

use crate::cgroup::cpu_shares;
use crate::sandbox::{Access, CAPABILITIES_OF_ROOT, Docker, Network, Place, SandboxPolicy};
use crate::spec::TreeLimits;

/// What a container is started as.
#[derive(Debug)]
pub(crate) struct Start<'a> {
    pub(crate) docker: &'a Docker,
    pub(crate) policy: &'a SandboxPolicy,
    /// This program, which is the container's first process.
    pub(crate) own_program: &'a Path,
    pub(crate) args: Vec<String>,
    /// More that its first process needs to see.
    pub(crate) shown: Vec<&'a Path>,
    /// The caller, by number.
    pub(crate) user: (u32, u32),
    pub(crate) limits: &'a TreeLimits,
}

/// The body of `POST /containers/create`.
pub(crate) fn create_body(start: &Start<'_>) -> Value {
    let Start { docker, policy, .. } = start;
    // Without root there is a user namespace, in which the caller is root.
    let (user, group) = if docker.rootless { (0, 0) } else { start.user };
    let capabilities = if user == 0 { CAPABILITIES_OF_ROOT.map(|(name, _)| name).to_vec() } else { Vec::new() };
    let mut mounts = mounts(policy);
    mounts.push(bind(start.own_program, start.own_program, false));
    // A socket works on a read-only mount.
    mounts.extend(start.shown.iter().map(|path| bind(path, path, false)));
    let network = match &policy.network {
        Network::Allow => "default",
        Network::Deny => "none",
        Network::List { socket, .. } => {
            mounts.push(bind(socket, socket, false));
            "none"
        }
    };
    let mut entrypoint = vec![start.own_program.to_string_lossy().into_owned()];
    entrypoint.extend(start.args.iter().cloned());
    json!({
        "Image": docker.image,
        "Entrypoint": entrypoint,
        "Cmd": [],
        "User": format!("{user}:{group}"),
        "WorkingDir": "/",
        "Labels": docker.labels,
        "AttachStdout": true,
        "AttachStderr": true,
        // Programs that the image would run next to the agent.
        "Healthcheck": { "Test": ["NONE"] },
        "HostConfig": {
            "AutoRemove": true,
            "ReadonlyRootfs": true,
            "CapDrop": ["ALL"],
            "CapAdd": capabilities,
            "SecurityOpt": ["no-new-privileges"],
            "NetworkMode": network,
            "UsernsMode": "host",
            "PidsLimit": start.limits.most_processes(),
            // 0 means none. Without swap, because swap would void the memory limit.
            "Memory": start.limits.memory_bytes.unwrap_or(0),
            "MemorySwap": start.limits.memory_bytes.unwrap_or(0),
            "CpuShares": start.limits.cpu_weight.map_or(0, cpu_shares),
            "LogConfig": { "Type": "none" },
            "Mounts": mounts,
        },
    })
}

fn mounts(policy: &SandboxPolicy) -> Vec<Value> {
    let mut mounted: Vec<(&Place, bool)> = Vec::new();
    let mut all = Vec::new();
    for place in policy.ordered() {
        let above = mounted.iter().rev().find(|(above, _)| place.path.starts_with(&above.path));
        let (mount, shows) = match place.access {
            Access::HiddenDir | Access::HiddenFile if !above.is_some_and(|(_, shows)| *shows) => continue,
            Access::HiddenDir => {
                let options = json!({ "SizeBytes": 1 << 16, "Mode": 0o555 });
                let target = &place.path;
                (json!({ "Type": "tmpfs", "Target": target, "ReadOnly": true, "TmpfsOptions": options }), false)
            }
            Access::HiddenFile => (bind(Path::new("/dev/null"), &place.path, false), false),
            Access::ReadOnly => (bind(&place.source(), &place.path, false), true),
            // A container has no overlays: it sees a copy.
            Access::Writable | Access::Layered => (bind(&place.source(), &place.path, true), true),
            Access::Link => continue,
        };
        all.push(mount);
        mounted.push((place, shows));
    }
    all
}

fn bind(source: &Path, target: &Path, writable: bool) -> Value {
    json!({
        "Type": "bind",
        "Source": source,
        "Target": target,
        "ReadOnly": !writable,
        // Below a read-only mount others would be writable.
        "BindOptions": { "NonRecursive": !writable },
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::sandbox::Backend;

    fn docker(rootless: bool) -> Docker {
        Docker {
            socket: "/run/docker.sock".into(),
            image: "debian:12".to_owned(),
            rootless,
            labels: [("windlass.loop".to_owned(), "1".to_owned())].into(),
            doors: "/s".into(),
        }
    }

    fn body(places: &[(&str, Access)], network: Network, user: u32, rootless: bool) -> Value {
        let docker = docker(rootless);
        let policy = SandboxPolicy {
            backend: Backend::Docker(docker.clone()),
            network,
            places: places.iter().map(|(path, access)| Place::new(*path, *access)).collect(),
        };
        create_body(&Start {
            docker: &docker,
            policy: &policy,
            own_program: Path::new("/bin/windlass"),
            args: vec!["shim".to_owned()],
            shown: vec![Path::new("/s/1/door")],
            user: (user, 100),
            limits: &TreeLimits { memory_bytes: Some(64 << 20), cpu_weight: Some(200), ..TreeLimits::default() },
        })
    }

    fn targets(body: &Value) -> Vec<(String, bool)> {
        let mounts = body["HostConfig"]["Mounts"].as_array().unwrap();
        mounts.iter().map(|mount| (mount["Target"].as_str().unwrap().to_owned(), mount["ReadOnly"] == false)).collect()
    }

    #[test]
    fn nothing_can_be_changed_but_what_is_named_and_nothing_can_be_gained() {
        let body = body(&[("/w", Access::Writable), ("/w/.git/config", Access::ReadOnly)], Network::Deny, 1000, false);
        let host = &body["HostConfig"];
        assert_eq!(host["ReadonlyRootfs"], true);
        assert_eq!((&host["CapDrop"], &host["CapAdd"]), (&json!(["ALL"]), &json!([])));
        assert_eq!(host["SecurityOpt"], json!(["no-new-privileges"]));
        assert_eq!(host["NetworkMode"], "none");
        assert_eq!(body["User"], "1000:100");
        assert_eq!(
            (&host["Memory"], &host["MemorySwap"], &host["CpuShares"]),
            (&json!(67_108_864), &json!(67_108_864), &json!(2_048))
        );
        assert_eq!(body["Entrypoint"], json!(["/bin/windlass", "shim"]));
        let read_only = |path: &str| (path.to_owned(), false);
        let expected = [("/w".to_owned(), true), read_only("/w/.git/config"), read_only("/bin/windlass")];
        assert_eq!(targets(&body), [expected.as_slice(), &[read_only("/s/1/door")]].concat());
    }

    #[test]
    fn what_is_hidden_is_covered_only_where_something_above_it_is_shown() {
        let places = [
            ("/h/.ssh", Access::HiddenDir),
            ("/h/.cache", Access::Writable),
            ("/h/.cache/mozilla", Access::HiddenDir),
            ("/h/.cache/token", Access::HiddenFile),
            ("/h/.cache/mozilla/deeper", Access::HiddenDir),
            ("/h/.cache/mozilla/shown", Access::ReadOnly),
        ];
        let body = body(&places, Network::Allow, 0, false);
        let seen: Vec<String> = targets(&body).into_iter().map(|(target, _)| target).collect();
        assert_eq!(
            seen,
            [
                "/h/.cache",
                "/h/.cache/mozilla",
                "/h/.cache/token",
                "/h/.cache/mozilla/shown",
                "/bin/windlass",
                "/s/1/door"
            ]
        );
        let mounts = body["HostConfig"]["Mounts"].as_array().unwrap();
        assert_eq!(mounts[1]["Type"], "tmpfs");
        assert_eq!(mounts[2]["Source"], "/dev/null");
        assert_eq!(body["HostConfig"]["NetworkMode"], "default");
        assert_eq!(body["HostConfig"]["CapAdd"], json!(CAPABILITIES_OF_ROOT.map(|(name, _)| name)));
    }

    #[test]
    fn the_caller_is_root_where_the_daemon_is_not() {
        assert_eq!(body(&[], Network::Allow, 1000, true)["User"], "0:0");
    }

    #[test]
    fn a_proxy_is_reached_through_its_socket_alone() {
        let socket = PathBuf::from("/s/proxy");
        let body = body(&[], Network::List { socket, proxy_port: 1, local_ports: Vec::new() }, 1000, false);
        assert_eq!(body["HostConfig"]["NetworkMode"], "none");
        assert!(targets(&body).contains(&("/s/proxy".to_owned(), false)));
    }
}
