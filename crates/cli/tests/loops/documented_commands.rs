//! Command lines in the documents are command lines that work.
//!
//! A block without a language holds commands. Each is `windlass …` and parses, or `cargo …` and names packages and tests that
//! exist. A block that nothing checks has a reason before it: `<!-- not run: … -->`. `<!-- checked: … -->` says who runs it.

use std::path::{Path, PathBuf};

use windlass::args::parse;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A fenced block: where it is, its language, the line before it, its lines.
#[derive(Debug)]
struct Block {
    place: String,
    language: String,
    before: String,
    lines: Vec<String>,
}

fn blocks(name: &str, text: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut open = false;
    let mut before = "";
    for (index, line) in text.lines().enumerate() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            open = !open;
            if open {
                let place = format!("{name}:{}", index + 1);
                found.push(Block { place, language: language.into(), before: before.into(), lines: Vec::new() });
            }
        } else if open {
            found.last_mut().expect("a block is open").lines.push(line.to_owned());
        }
        if !line.trim().is_empty() {
            before = line;
        }
    }
    assert!(!open, "{name}: a block has no end");
    found
}

/// The commands of a block: continued lines joined, comments left out.
fn commands(block: &Block) -> Vec<String> {
    let joined = block.lines.join("\n").replace("\\\n", " ");
    let commands = joined.lines().map(|line| line.split("  #").next().unwrap_or_default().trim().to_owned());
    commands.filter(|line| !line.is_empty()).collect()
}

/// What is wrong with a command, if anything.
fn wrong(command: &str) -> Option<String> {
    let words = shlex::split(command)?;
    // Variables before the program.
    let words: Vec<String> = words.into_iter().skip_while(|word| word.contains('=')).collect();
    match words.first().map(String::as_str) {
        Some("windlass") => parse(&words).err().map(|refusal| format!("{refusal:?}")),
        Some("cargo") => cargo_names(&words),
        Some("cd") => None,
        Some(program) if root().join(program).is_file() => None,
        _ => Some("no command of this project; mark the block with <!-- not run: reason -->".to_owned()),
    }
}

/// A package or test that cargo would not find.
fn cargo_names(words: &[String]) -> Option<String> {
    let crates = std::fs::read_dir(root().join("crates")).unwrap().flatten().map(|entry| entry.path());
    let crates: Vec<PathBuf> = crates.collect();
    let package = |name: &str| {
        let line = format!("name = \"{name}\"");
        crates.iter().any(|dir| std::fs::read_to_string(dir.join("Cargo.toml")).is_ok_and(|text| text.contains(&line)))
    };
    let test = |name: &str| {
        let tests = crates.iter().map(|dir| dir.join("tests"));
        tests
            .into_iter()
            .any(|dir| dir.join(format!("{name}.rs")).is_file() || dir.join(name).join("main.rs").is_file())
    };
    for pair in words.windows(2) {
        let known = match pair[0].as_str() {
            "-p" | "--bin" => package(&pair[1]),
            "--test" => test(&pair[1]),
            _ => true,
        };
        if !known {
            return Some(format!("there is no {}", pair[1]));
        }
    }
    None
}

fn documents() -> Vec<PathBuf> {
    let in_folder = |folder: &str| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(root().join(folder)).unwrap().flatten().map(|entry| entry.path());
        entries.filter(|path| path.extension().is_some_and(|e| e == "md")).collect()
    };
    let mut all = [in_folder("."), in_folder("docs"), in_folder("docs/how-to")].concat();
    // Generated from the program's own definitions, with usage lines that are no commands.
    all.retain(|path| !path.ends_with("docs/cli.md"));
    all.sort();
    all
}

#[test]
// promise: cli-5
fn every_command_in_the_documents_works_or_says_why_it_is_not_run() {
    let mut broken = Vec::new();
    let mut checked = 0;
    for path in documents() {
        let name = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
        let text = std::fs::read_to_string(&path).unwrap();
        for block in blocks(&name, &text).iter().filter(|block| block.language.is_empty()) {
            if ["<!-- checked: ", "<!-- not run: "].iter().any(|mark| block.before.trim_start().starts_with(mark)) {
                continue;
            }
            for command in commands(block) {
                checked += 1;
                broken.extend(wrong(&command).map(|why| format!("{}: {command}: {why}", block.place)));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
    assert!(checked > 20, "only {checked} commands were found");
}

#[test]
fn commands_that_do_not_work_are_found() {
    let text = "words\n```\nwindlass run x \\\n  --nonsense\nwindlass list  # all\ncargo test -p nobody\nmake\n```\n";
    let [block] = &blocks("x.md", text)[..] else { panic!("one block") };
    let found: Vec<bool> = commands(block).iter().map(|command| wrong(command).is_some()).collect();
    assert_eq!(found, [true, false, true, true]);
}
