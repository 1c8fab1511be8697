//! A policy as a profile for `sandbox-exec`. In a profile the last rule that fits decides, so the order is that of
//! bubblewrap's mounts.

use std::fmt::Write as _;
use std::path::Path;

use super::{Access, Network, SandboxPolicy};

pub(crate) fn profile(policy: &SandboxPolicy) -> String {
    let mut text = String::from(
        "(version 1)\n(allow default)\n(deny file-write*)\n\
         (allow file-write* (subpath \"/dev\"))\n\
         (deny process-info* (target others))\n(deny signal (target others))\n\
         (allow signal (target same-sandbox))\n(allow process-info* (target same-sandbox))\n\
         (deny mach-priv-task-port)\n",
    );
    for place in policy.ordered() {
        let filter = filter(&place.path);
        let _ = match place.access {
            // Paths below it can be resolved, since some of them may be shown.
            Access::HiddenDir | Access::HiddenFile => {
                writeln!(text, "(deny file-read* file-write* {filter})\n(allow file-read-metadata {filter})")
            }
            Access::ReadOnly => writeln!(text, "(allow file-read* {filter})\n(deny file-write* {filter})"),
            // Without mounts, relocated paths must be passed explicitly.
            Access::Writable if place.from.is_some() => writeln!(text, "(deny file-write* {filter})"),
            Access::Writable | Access::Layered => writeln!(text, "(allow file-read* file-write* {filter})"),
            Access::Link => Ok(()),
        };
    }
    match &policy.network {
        Network::Allow => {}
        Network::Deny => text.push_str("(deny network*)\n"),
        // There is no separate loopback, so the bridge uses the machine's.
        Network::List { socket, proxy_port, .. } => {
            let _ = writeln!(
                text,
                "(deny network*)\n(allow network-outbound (remote unix-socket {}))\n\
                 (allow network-outbound (remote ip \"localhost:{proxy_port}\"))",
                filter(socket)
            );
        }
    }
    text
}

fn filter(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    format!("(subpath \"{text}\")")
}

#[cfg(test)]
mod tests {
    use super::super::{Backend, Place};
    use super::*;

    #[test]
    fn writes_are_denied_but_in_named_places_and_hidden_ones_cannot_be_read() {
        let places = [
            ("/Users/me/.ssh", Access::HiddenDir),
            ("/Users/me/\"wt\"", Access::Writable),
            ("/Users/me/\"wt\"/.git/config", Access::ReadOnly),
        ];
        let policy = SandboxPolicy {
            backend: Backend::Seatbelt,
            network: Network::Deny,
            places: places.map(|(path, access)| Place::new(path, access)).to_vec(),
        };
        let text = profile(&policy);
        let expected = "(deny file-read* file-write* (subpath \"/Users/me/.ssh\"))\n\
             (allow file-read-metadata (subpath \"/Users/me/.ssh\"))\n\
             (allow file-read* file-write* (subpath \"/Users/me/\\\"wt\\\"\"))\n\
             (allow file-read* (subpath \"/Users/me/\\\"wt\\\"/.git/config\"))\n\
             (deny file-write* (subpath \"/Users/me/\\\"wt\\\"/.git/config\"))\n\
             (deny network*)\n";
        assert!(text.ends_with(expected), "{text}");
        assert!(text.starts_with("(version 1)\n(allow default)\n(deny file-write*)\n"), "{text}");
    }
}
