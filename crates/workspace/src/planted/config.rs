//! What of a repository's settings runs nothing: an allow-list, and a reader that understands only what is plain.
//!
//! Invariant: what is kept is written again, line by line, in the plainest form, so that git cannot read more into it than
//! was understood here.

/// Sections and settings that define how files and refs are written, who commits, and where remotes are.
const KEPT: &[(&str, &[&str])] = &[
    (
        "core",
        &[
            "repositoryformatversion",
            "filemode",
            "bare",
            "logallrefupdates",
            "ignorecase",
            "precomposeunicode",
            "symlinks",
            "autocrlf",
            "eol",
            "sparsecheckout",
            "sparsecheckoutcone",
            "worktree",
        ],
    ),
    ("extensions", &["objectformat", "refstorage"]),
    ("user", &["name", "email"]),
    ("remote", &["url", "fetch", "tagopt", "prune"]),
    ("branch", &["remote", "merge", "rebase"]),
    ("submodule", &["url", "active", "branch"]),
    ("pull", &["rebase", "ff"]),
    ("push", &["default"]),
    ("lfs", &["repositoryformatversion"]),
];

/// Replaces unreadable settings.
pub(super) const NONE: &str = "[core]\n\trepositoryformatversion = 0\n";

/// The settings without those that could run something or point elsewhere; `None` if there are none of these. `stays` says
/// whether a work tree is one inside the workspace.
pub(super) fn harmless(text: &str, stays: impl Fn(&str) -> bool) -> Option<String> {
    let mut kept = String::new();
    let mut section = None;
    let mut left_out = false;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';'])) {
        if line.starts_with('[') {
            section = header(line);
            match section {
                Some((name, sub)) => {
                    let sub = sub.map_or(String::new(), |sub| format!(" \"{sub}\""));
                    kept.push_str(&format!("[{name}{sub}]\n"));
                }
                None => left_out = true,
            }
            continue;
        }
        let setting = section.and_then(|(name, _)| setting(name, line));
        match setting.filter(|(key, value)| *key != "worktree" || stays(value)) {
            Some((key, value)) => kept.push_str(&format!("\t{key} = {value}\n")),
            None => left_out = true,
        }
    }
    left_out.then_some(kept)
}

/// `[section]` or `[section "sub"]`, of those that are kept.
fn header(line: &str) -> Option<(&'static str, Option<&str>)> {
    let inner = line.strip_prefix('[')?.strip_suffix(']')?;
    let (name, sub) = match inner.split_once(' ') {
        Some((name, sub)) => (name, Some(sub.trim().strip_prefix('"')?.strip_suffix('"')?)),
        None => (inner, None),
    };
    let plain = |text: &str| !text.contains(['"', '\\', '[', ']']) && !text.chars().any(char::is_control);
    let (known, _) = KEPT.iter().find(|(known, _)| name.eq_ignore_ascii_case(known))?;
    sub.is_none_or(plain).then_some((known, sub))
}

/// A setting of this section that is kept, with its value.
fn setting<'a>(section: &str, line: &'a str) -> Option<(&'static str, &'a str)> {
    let (key, value) = line.split_once('=')?;
    let (key, value) = (key.trim(), value.trim());
    let (_, keys) = KEPT.iter().find(|(known, _)| *known == section)?;
    let key = keys.iter().find(|known| key.eq_ignore_ascii_case(known))?;
    let plain = !value.contains(['"', '\\', '#', ';']) && !value.chars().any(char::is_control);
    (plain && !value.starts_with('-')).then_some((key, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What git writes for a submodule.
    const PLAIN: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\
        \tlogallrefupdates = true\n\tworktree = ../../../sub\n[remote \"origin\"]\n\turl = https://example.com/a.git\n\
        \tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n";

    #[test]
    fn what_git_writes_itself_stays_as_it_is() {
        assert_eq!(harmless(PLAIN, |_| true), None);
        assert_eq!(harmless(&format!("# mine\n\n; too\n{PLAIN}"), |_| true), None);
    }

    #[test]
    fn what_runs_something_goes_however_it_is_written() {
        let hostile = [
            "[core]\n\tfsmonitor = evil\n",
            "[core] fsmonitor = evil\n",
            "[CORE]\n\tFSMonitor=evil\n",
            "[core]\n\tsshCommand = evil\n\tpager = evil\n\teditor = evil\n\taskPass = evil\n\thooksPath = evil\n",
            "[core]\n\tfilemode = true \\\n\tfsmonitor = evil\n",
            "[core]\n\tfilemode = \"true\n\"\n\tfsmonitor = evil\n",
            "[alias]\n\tst = !evil\n[diff]\n\texternal = evil\n[diff \"x\"]\n\ttextconv = evil\n",
            "[include]\n\tpath = evil\n[includeIf \"gitdir:/\"]\n\tpath = evil\n",
            "[filter \"x\"]\n\tclean = evil\n[merge \"x\"]\n\tdriver = evil\n[credential]\n\thelper = !evil\n",
            "[remote \"x\"]\n\tuploadpack = evil\n\treceivepack = evil\n\tvcs = evil\n",
            "[remote \"x\"]\n\turl = --upload-pack=evil\n[submodule \"x\"]\n\tupdate = !evil\n",
            "[core \"x\\\"]\n\tfsmonitor = evil\n[core]\r\tfsmonitor = evil\n[gpg]\n\tprogram = evil\n",
            "\u{feff}[core]\n\tfsmonitor = evil\n[extensions]\n\tworktreeConfig = true\n\tpartialClone = evil\n",
        ];
        for text in hostile {
            let kept = harmless(&format!("{PLAIN}{text}"), |_| true).expect(text);
            assert!(!kept.contains("evil") && kept.contains("worktree = ../../../sub"), "{text}: {kept}");
            assert_eq!(harmless(&kept, |_| true), None, "what is kept is plain");
        }
        let kept = harmless(PLAIN, |_| false).unwrap();
        assert!(!kept.contains("worktree"), "{kept}");
    }
}
