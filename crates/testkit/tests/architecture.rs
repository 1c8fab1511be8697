//! The rules of ARCHITECTURE.md that a compiler does not hold: who may depend on whom, how long a file may be, what
//! nothing may be called, that no test is forgotten, and that every promise has a test. Each broken rule names the file and the way out.

#[path = "architecture/documents.rs"]
mod documents;
#[path = "architecture/imports.rs"]
mod imports;
#[path = "architecture/promises.rs"]
mod promises;
#[path = "architecture/source.rs"]
mod source;
#[path = "architecture/surface.rs"]
mod surface;
#[path = "architecture/threats.rs"]
mod threats;
#[path = "architecture/words.rs"]
mod words;
#[path = "architecture/workspace.rs"]
mod workspace;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use imports::{imports, tangles};
use source::Source;
use workspace::{Crate, crates, shown};

/// What each crate may be built from, of this workspace.
const MAY_DEPEND_ON: &[(&str, &[&str])] = &[
    ("windlass-process", &[]),
    ("windlass-redact", &[]),
    ("windlass-core", &["windlass-process"]),
    ("windlass-faults", &[]),
    ("windlass-agents", &["windlass-process", "windlass-redact", "windlass-core"]),
    ("windlass-supervise", &["windlass-process", "windlass-redact"]),
    ("windlass-store", &[]),
    ("windlass-workspace", &["windlass-redact", "windlass-faults"]),
    (
        "windlass-engine",
        &[
            "windlass-process",
            "windlass-redact",
            "windlass-core",
            "windlass-faults",
            "windlass-agents",
            "windlass-supervise",
            "windlass-store",
            "windlass-workspace",
        ],
    ),
    (
        "windlass-app",
        &[
            "windlass-redact",
            "windlass-core",
            "windlass-agents",
            "windlass-supervise",
            "windlass-store",
            "windlass-workspace",
            "windlass-engine",
        ],
    ),
    ("windlass-server", &["windlass-core", "windlass-store", "windlass-workspace", "windlass-engine", "windlass-app"]),
    (
        "windlass",
        &[
            "windlass-process",
            "windlass-redact",
            "windlass-core",
            "windlass-agents",
            "windlass-supervise",
            "windlass-store",
            "windlass-workspace",
            "windlass-engine",
            "windlass-app",
            "windlass-server",
        ],
    ),
    // It shares no code with what it tests, so that it cannot share a mistake either.
    ("windlass-testkit", &[]),
    // It runs the engine on simulated machines.
    (
        "windlass-simulate",
        &["windlass-core", "windlass-supervise", "windlass-store", "windlass-workspace", "windlass-engine"],
    ),
];

/// Everything `core` may be built from: what computes, and nothing that acts.
const CORE_MAY_USE: [&str; 9] =
    ["windlass-process", "jiff", "minijinja", "schemars", "serde", "serde_json", "strsim", "thiserror", "toml"];

/// Dependencies that belong to some crates only.
const ONLY_IN: &[(&str, &[&str], &str)] = &[
    ("axum", &["windlass-server"], "only the server speaks HTTP to whoever comes"),
    ("anyhow", &["windlass"], "errors are one enum per module, with thiserror"),
    ("clap", &["windlass"], "only the command line has commands"),
    ("libc", &["windlass-supervise", "windlass-testkit"], "unsafe code lives in supervise"),
    ("ratatui", &["windlass"], "only the command line draws on a terminal"),
    ("reqwest", &["windlass-engine", "windlass-server"], "who may call others over HTTP"),
    ("rusqlite", &["windlass-store"], "the store hides its database"),
    (
        "rustix",
        &[
            "windlass-supervise",
            "windlass-faults",
            "windlass-store",
            "windlass-workspace",
            "windlass-engine",
            "windlass-app",
            "windlass",
            "windlass-testkit",
        ],
        "core and agents do no I/O",
    ),
    ("rustls", &["windlass-engine", "windlass-server"], "only who calls others needs a secret line"),
    ("tiktoken-rs", &["windlass-engine"], "its tables are loaded once per process, in one place"),
    (
        "tokio",
        &[
            "windlass-supervise",
            "windlass-store",
            "windlass-workspace",
            "windlass-engine",
            "windlass-app",
            "windlass-server",
            "windlass",
            "windlass-simulate",
        ],
        "core and agents do no I/O",
    ),
];

/// Paths of the standard library that a crate without I/O does not use.
const NO_IO: [(&str, &[&str]); 4] = [
    (
        "windlass-core",
        &[
            "std::fs",
            "std::net",
            "std::process",
            "std::env",
            "std::thread",
            "Instant::now",
            "SystemTime::now",
            "Timestamp::now",
        ],
    ),
    ("windlass-agents", &["std::fs", "std::net", "std::process", "std::thread"]),
    ("windlass-redact", &["std::fs", "std::net", "std::process", "std::env", "std::thread"]),
    ("windlass-process", &["std::fs", "std::net", "std::process", "std::env", "std::thread"]),
];

const MOST_LINES: usize = 600;

/// Files that may be longer, each with its reason.
const LONGER: [(&str, &str); 0] = [];

const MOST_FILES: usize = 15;

/// Folders that may have more, at most so many, each with its reason. The numbers only go down.
const FULLER: &[(&str, usize, &str)] = &[];

/// Crates with modules that import each other in a circle: the most modules of one circle, with the reason. The numbers
/// only go down; a crate that is not here has no circle.
const TANGLED: &[(&str, usize, &str)] = &[];

/// What crates show although nobody uses it, each with its reason.
const SHOWN_TO_NOBODY: &[(&str, &str, &str)] =
    &[("windlass-agents", "prices_as_of", "how recent the price table is, which only a test asks so far")];

/// Test files that may sleep, each with its reason.
const MAY_SLEEP: [(&str, &str); 2] = [
    ("crates/supervise/tests/trees/agents.rs", "the programs under test, whose part is to sleep"),
    ("crates/supervise/tests/trees/world.rs", "polls for what has no event source, within a limit"),
];

/// Who may start a program by itself, each with its reason. All else is started by `supervise`, in the sandbox that
/// `engine::sandbox` makes: an agent's program, and whatever a repository names, never runs with the user's rights by mistake.
const MAY_START_PROGRAMS: &[(&str, &str)] = &[
    ("crates/supervise/src/", "it starts the shim, and looks whether there is a sandbox"),
    ("crates/store/src/identity.rs", "sysctl and ps, on systems without /proc"),
    ("crates/workspace/src/git/process.rs", "git, with pinned settings"),
    ("crates/workspace/src/git/ssh.rs", "ssh-keygen, as the user's git does"),
    ("crates/engine/src/notify/", "the user's own command and the desktop's"),
    ("crates/app/src/forge/process.rs", "the user's own gh, glab and tea, and git push with the user's login"),
    ("crates/cli/src/background.rs", "this very program"),
    ("crates/cli/src/fleet.rs", "windlass-fleet, which takes the place of this program as the user typed it"),
    ("crates/cli/src/mcp/own.rs", "this very program"),
    ("crates/cli/src/project/editor.rs", "the user's own editor, which `config edit` opens"),
    ("crates/cli/src/escape/attempts.rs", "it runs inside the sandbox that it tries"),
];

const NO_NAMES: [&str; 6] = ["utils", "common", "types", "errors", "manager", "helpers"];

/// Where `unsafe` may be.
const UNSAFE_IN: [&str; 2] = ["crates/supervise/", "crates/testkit/src/bin/scripted_agent/"];

#[track_caller]
fn hold(rule: &str, broken: &[String]) {
    assert!(broken.is_empty(), "\n{rule}\n  {}\n", broken.join("\n  "));
}

fn everywhere(crates: impl IntoIterator<Item = Crate>, under: &[&str]) -> Vec<Source> {
    crates.into_iter().flat_map(|c| under.iter().flat_map(|u| c.sources(u)).collect::<Vec<_>>()).collect()
}

#[test]
fn crates_depend_on_each_other_only_as_drawn() {
    let crates = crates();
    let mut broken = Vec::new();
    for (name, one) in &crates {
        let Some((_, allowed)) = MAY_DEPEND_ON.iter().find(|(n, _)| n == name) else {
            broken.push(format!("{}: crate {name} is not in the drawing", shown(&one.dir)));
            continue;
        };
        for dependency in one.dependencies().iter().filter(|d| crates.contains_key(*d)) {
            if dependency == "windlass-testkit" {
                broken.push(format!("{name} is built from windlass-testkit: make it a dev-dependency"));
            } else if !allowed.contains(&dependency.as_str()) {
                broken.push(format!("{name} depends on {dependency}; it may on {allowed:?}"));
            }
        }
    }
    hold("crates depend on each other only as ARCHITECTURE.md draws it", &broken);
}

/// Files of the command line that wire it to the server: what `serve` opens, and where `--server` leads.
const NAME_THE_SERVER: [&str; 2] = ["crates/cli/src/serve/", "crates/cli/src/remote"];

#[test]
fn the_command_line_names_the_server_only_where_it_is_wired() {
    let mut crates = crates();
    let mut broken = Vec::new();
    for source in everywhere(crates.remove("windlass"), &["src"]) {
        let name = shown(&source.path);
        if !NAME_THE_SERVER.iter().any(|place| name.starts_with(place)) {
            let named = source.words("windlass_server");
            broken.extend(named.map(|at| place(&source, at, "ask windlass-app instead")));
        }
    }
    hold(&format!("of the command line only {NAME_THE_SERVER:?} name the server"), &broken);
}

#[test]
fn outside_dependencies_stay_where_they_belong() {
    let mut broken = Vec::new();
    for (name, one) in &crates() {
        for dependency in one.dependencies() {
            let d = dependency.as_str();
            if name == "windlass-core" && !CORE_MAY_USE.contains(&d) {
                broken.push(format!("{name} depends on {d}; it may on {CORE_MAY_USE:?}"));
            }
            for (only, places, why) in ONLY_IN {
                if d == *only && !places.contains(&name.as_str()) {
                    broken.push(format!("{name} depends on {d}, which is for {places:?}: {why}"));
                }
            }
        }
        if !one.uses_workspace_lints() {
            broken.push(format!("{name} needs [lints] workspace = true"));
        }
    }
    hold("outside dependencies stay where they belong", &broken);
}

#[test]
fn every_dependency_is_used() {
    let mut broken = Vec::new();
    for (name, one) in &crates() {
        let code = |under: &[&str]| -> Vec<Source> { under.iter().flat_map(|folder| one.sources(folder)).collect() };
        let (shipped, all) = (code(&["src"]), code(&["src", "tests", "benches", "examples"]));
        let unused = |names: BTreeSet<String>, sources: &[Source]| -> Vec<String> {
            let is_used = |word: &str| sources.iter().any(|source| source.words(word).next().is_some());
            names.into_iter().filter(|dependency| !is_used(&dependency.replace('-', "_"))).collect()
        };
        for dependency in unused(one.dependencies(), &shipped).into_iter().chain(unused(one.dev_dependencies(), &all)) {
            broken.push(format!("{name}: remove {dependency} from its Cargo.toml"));
        }
    }
    hold("a crate depends only on what its code names", &broken);
}

#[test]
fn crates_without_io_do_none() {
    let mut crates = crates();
    let mut broken = Vec::new();
    for (name, forbidden) in NO_IO {
        for source in everywhere(crates.remove(name), &["src"]) {
            let tests = source.test_modules();
            for path in forbidden {
                let outside = source.words(path).filter(|at| !tests.iter().any(|t| t.contains(at)));
                broken.extend(outside.map(|at| place(&source, at, &format!("{path} in {name}"))));
            }
        }
    }
    hold("crates without I/O do none, and read no clock", &broken);
}

#[test]
fn files_are_short() {
    let mut broken = Vec::new();
    for source in everywhere(crates().into_values(), &["src"]) {
        let name = shown(&source.path);
        if is_test_file(&source.path) || LONGER.iter().any(|(file, _)| *file == name) {
            continue;
        }
        let lines = source.production_lines();
        if lines > MOST_LINES {
            broken.push(format!("{name}: {lines} lines outside tests; split it by nouns"));
        }
    }
    hold(&format!("a file has at most {MOST_LINES} lines outside tests (aim at 400)"), &broken);
}

#[test]
fn folders_can_be_seen_at_a_glance() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for source in everywhere(crates().into_values(), &["src"]) {
        *counts.entry(shown(source.path.parent().unwrap_or(&source.path))).or_default() += 1;
    }
    let most = |folder: &str| FULLER.iter().find(|(f, ..)| *f == folder).map_or(MOST_FILES, |(_, most, _)| *most);
    let broken = counts.iter().filter(|(folder, count)| **count > most(folder));
    let broken: Vec<String> =
        broken.map(|(folder, count)| format!("{folder}: {count} files, at most {}", most(folder))).collect();
    hold(&format!("a folder has at most {MOST_FILES} files: make folders by nouns"), &broken);
}

#[test]
fn modules_of_a_crate_import_each_other_in_one_direction() {
    let mut broken = Vec::new();
    for (name, one) in &crates() {
        let most = TANGLED.iter().find(|(n, ..)| n == name).map_or(1, |(_, most, _)| *most);
        let imports = imports(one);
        for tangle in tangles(&imports).into_iter().filter(|tangle| tangle.len() > most) {
            let edges = |from: &String| {
                let to: Vec<_> = tangle.iter().filter(|to| imports[from].contains(*to)).cloned().collect();
                format!("{from} → {}", to.join(", "))
            };
            let edges: Vec<String> = tangle.iter().map(edges).collect();
            broken.push(format!("{name}: {} modules, at most {most}:\n    {}", tangle.len(), edges.join("\n    ")));
        }
    }
    hold(
        "no modules of a crate import each other in a circle: hand over the narrow thing, or move the plain type",
        &broken,
    );
}

#[test]
fn crates_show_only_what_others_use() {
    let unused = surface::unused(&crates());
    let known = |name: &str, item: &str| SHOWN_TO_NOBODY.iter().any(|(n, i, _)| *n == name && *i == item);
    let new = unused.iter().filter(|(name, item)| !known(name, &item.name));
    let new = new.map(|(name, item)| {
        format!("{}:{}: {} of {name}; make it pub(crate), or remove it", shown(&item.file), item.line, item.name)
    });
    let is_unused = |name: &str, item: &str| unused.iter().any(|(n, i)| n == name && i.name == item);
    let stale = SHOWN_TO_NOBODY.iter().filter(|(name, item, why)| why.is_empty() || !is_unused(name, item));
    let stale = stale.map(|(name, item, _)| format!("{name}: {item} needs no exception, or has no reason"));
    let broken: Vec<String> = new.chain(stale).collect();
    hold("a crate shows only what another one uses", &broken);
}

#[test]
fn programs_are_started_where_it_is_allowed() {
    let mut broken = Vec::new();
    let shipped = crates().into_iter().filter(|(name, _)| name != "windlass-testkit").map(|(_, one)| one);
    for source in everywhere(shipped, &["src"]) {
        let name = shown(&source.path);
        if MAY_START_PROGRAMS.iter().any(|(place, _)| name.starts_with(place)) {
            continue;
        }
        let tests = source.test_modules();
        let outside = source.words("Command::new").filter(|at| !tests.iter().any(|t| t.contains(at)));
        broken.extend(outside.map(|at| place(&source, at, "start it through the shim, with `Ground::confine`")));
    }
    hold("programs are started by supervise, git and this program itself", &broken);
}

/// `tests.rs` or a file in `tests/` below `src`: a test module in its own file.
fn is_test_file(path: &Path) -> bool {
    let inside = path.components().rev().take_while(|c| c.as_os_str() != "src");
    inside.map(|c| c.as_os_str().to_owned()).any(|c| c == "tests.rs" || c == "tests")
}

#[test]
fn exceptions_name_files_that_exist() {
    let root = workspace::workspace_root();
    let all = LONGER.iter().chain(&MAY_SLEEP);
    let gone = all.filter(|(file, why)| !root.join(file).is_file() || why.is_empty());
    let broken: Vec<String> = gone.map(|(file, _)| (*file).to_owned()).collect();
    hold("an exception names an existing file and a reason", &broken);
}

#[test]
fn names_say_what_a_thing_is() {
    let mut broken = Vec::new();
    for (name, one) in crates() {
        let directory = one.dir.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        if NO_NAMES.contains(&directory) || NO_NAMES.iter().any(|n| name == format!("windlass-{n}")) {
            broken.push(format!("{}: no crate has such a name", shown(&one.dir)));
        }
        for source in everywhere([one], &["src", "tests", "benches", "examples"]) {
            let modules = source.modules();
            let bad = modules.iter().filter(|m| NO_NAMES.contains(&m.name.as_str()));
            broken.extend(bad.map(|m| format!("{}:{}: mod {}", shown(&source.path), m.line, m.name)));
        }
    }
    hold(&format!("no crate or module is called one of {NO_NAMES:?}: name the noun"), &broken);
}

#[test]
fn every_source_file_opens_with_its_purpose() {
    let sources = everywhere(crates().into_values(), &["src"]);
    let opens = |s: &&Source| {
        let first = s.text.lines().find(|l| !l.trim().is_empty()).unwrap_or_default();
        first.strip_prefix("//!").is_some_and(|rest| !rest.trim().is_empty())
    };
    let broken: Vec<String> = sources.iter().filter(|s| !opens(s)).map(|s| shown(&s.path)).collect();
    hold("every file under src/ opens with //! purpose, then its invariant", &broken);
}

#[test]
fn no_file_is_forgotten_by_the_compiler() {
    let mut broken = Vec::new();
    for one in crates().into_values() {
        let compiled = one.compiled();
        for under in ["src", "tests", "benches", "examples"] {
            let all: BTreeSet<_> = one.files(under).into_iter().collect();
            broken.extend(
                all.difference(&compiled)
                    .map(|path| format!("{}: no target reaches it; declare it with mod, or move it", shown(path))),
            );
        }
    }
    hold("every .rs file is compiled, tests above all", &broken);
}

#[test]
fn tests_do_not_sleep() {
    let mut broken = Vec::new();
    for source in everywhere(crates().into_values(), &["tests"]) {
        if MAY_SLEEP.iter().any(|(file, _)| *file == shown(&source.path)) {
            continue;
        }
        let calls = source.words("sleep").filter(|&at| {
            let method = source.code[..at].ends_with('.');
            let path = source.code[..at].ends_with("thread::") || source.code[..at].ends_with("time::");
            !method && (path || source.code[at + 5..].starts_with('('))
        });
        broken.extend(calls.map(|at| place(&source, at, "wait for an event instead")));
    }
    hold("tests wait for events, never for time", &broken);
}

#[test]
fn unsafe_code_is_where_it_is_allowed() {
    let mut broken = Vec::new();
    for source in everywhere(crates().into_values(), &["src", "tests", "benches", "examples"]) {
        let name = shown(&source.path);
        if !UNSAFE_IN.iter().any(|allowed| name.starts_with(allowed)) {
            broken.extend(source.words("unsafe").map(|at| place(&source, at, "unsafe")));
        }
    }
    hold(&format!("unsafe code is only in {UNSAFE_IN:?}"), &broken);
}

fn place(source: &Source, at: usize, what: &str) -> String {
    format!("{}:{}: {what}", shown(&source.path), source.line_of(at))
}

#[test]
fn the_reader_of_sources_sees_through_comments_literals_and_test_modules() {
    let text = [
        "//! unsafe in a comment",
        "const A: &str = \"unsafe { \\\" mod x;\"; /* unsafe /* nested */ mod y; */",
        "const B: &str = r#\"unsafe } \" mod z;\"#; const C: char = '{'; const D: &'static str = \"\";",
        "#[path = \"elsewhere/real.rs\"]",
        "pub(crate) mod real;",
        "fn f<'a>(x: &'a str) -> char { '\\'' }",
        "#[cfg(test)]",
        "#[allow(dead_code)]",
        "mod tests {",
        "    fn g() { unsafe {} }",
        "}",
        "mod inline { }",
    ]
    .join("\n");
    let source = Source::new(Path::new("x.rs"), text);
    assert_eq!(source.words("unsafe").map(|at| source.line_of(at)).collect::<Vec<_>>(), [10]);
    assert_eq!(source.production_lines(), 7);
    let modules: Vec<_> = source.modules().into_iter().map(|m| (m.name, m.elsewhere, m.path)).collect();
    let expected = [("real", true, Some("elsewhere/real.rs")), ("tests", false, None), ("inline", false, None)];
    assert_eq!(modules, expected.map(|(n, e, p)| (n.to_owned(), e, p.map(str::to_owned))));
}
