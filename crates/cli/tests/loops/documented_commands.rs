//! Command lines in the documents are command lines that work.
//!
//! A block without a language, or in that of a shell, holds commands. Each of them that is `windlass …` parses, and each that is
//! `cargo …` names packages, programs and tests that exist. `documented_runs` runs them, except those in a block with a reason
//! before it: `<!-- not run: … -->`, or `<!-- checked: … -->`, which names the file that runs them instead.

use std::path::{Path, PathBuf};

use windlass::args::parse;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A fenced block: where it is, its language, the line before it, its lines.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) place: String,
    language: String,
    before: String,
    lines: Vec<String>,
}

/// The languages of blocks that hold no commands.
const OTHER: [&str; 7] = ["ini", "json", "python", "rust", "text", "toml", "yaml"];

impl Block {
    pub(crate) fn holds_commands(&self) -> bool {
        ["", "sh", "bash"].contains(&self.language.as_str())
    }

    /// Why nothing may be read from it: its language is unknown, or it hides commands from the tests.
    fn unreadable(&self) -> Option<String> {
        let command = |line: &&String| ["windlass ", "cargo "].iter().any(|start| line.trim_start().starts_with(start));
        match self.language.as_str() {
            _ if self.holds_commands() => None,
            language if !OTHER.contains(&language) => Some(format!("what is {language}?")),
            "text" => self.lines.iter().find(command).map(|line| format!("is this no command? {line}")),
            _ => None,
        }
    }

    /// What a mark before it says.
    fn mark(&self, kind: &str) -> Option<&str> {
        self.before.trim_start().strip_prefix("<!-- ")?.strip_prefix(kind)?.strip_prefix(": ")?.strip_suffix(" -->")
    }
}

/// Whether something else runs its commands, or nothing does.
pub(crate) fn is_marked(block: &Block) -> bool {
    block.mark("checked").is_some() || block.mark("not run").is_some()
}

/// A file that a `checked` mark names and that does not exist, or no file.
fn wrong_mark(block: &Block) -> Option<String> {
    let by = block.mark("checked")?;
    let mut files = by.split([' ', ',']).filter(|word| word.contains('/'));
    let exists = files.next().is_some_and(|file| root().join(file).is_file());
    (!exists).then(|| format!("what checks it is no file: {by}"))
}

pub(crate) fn name_of(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

pub(crate) fn blocks(name: &str, text: &str) -> Vec<Block> {
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
pub(crate) fn commands(block: &Block) -> Vec<String> {
    let joined = block.lines.join("\n").replace("\\\n", " ");
    let commands = joined.lines().map(|line| line.split(" #").next().unwrap_or_default().trim().to_owned());
    commands.filter(|line| !line.is_empty()).collect()
}

/// What is wrong with a command, if anything.
fn wrong(command: &str) -> Option<String> {
    let Some(words) = shlex::split(command) else { return Some("a quote has no end".to_owned()) };
    // Variables before the program, and what the shell does with its output.
    let words: Vec<String> = words
        .into_iter()
        .skip_while(|word| word.contains('='))
        .take_while(|word| !["<", ">", "|"].contains(&word.as_str()))
        .collect();
    match words.first().map(String::as_str) {
        Some("windlass") => parse(&words).err().map(|refusal| format!("{refusal:?}")),
        Some("cargo") => cargo_names(&words),
        _ => None,
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
    let program = |name: &str| {
        let mut programs = crates.iter().map(|dir| dir.join("src/bin").join(name));
        package(name) || programs.any(|path| path.is_dir() || path.with_extension("rs").is_file())
    };
    let test = |name: &str| {
        let tests = crates.iter().map(|dir| dir.join("tests"));
        tests
            .into_iter()
            .any(|dir| dir.join(format!("{name}.rs")).is_file() || dir.join(name).join("main.rs").is_file())
    };
    for pair in words.windows(2) {
        let known = match pair[0].as_str() {
            "-p" => package(&pair[1]),
            "--bin" => program(&pair[1]),
            "--test" => test(&pair[1]),
            _ => true,
        };
        if !known {
            return Some(format!("there is no {}", pair[1]));
        }
    }
    None
}

/// Commands in running text: `` `windlass …` `` outside of blocks, with their lines.
fn mentions(text: &str) -> Vec<(usize, String)> {
    let mut in_block = false;
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            let spans = line.split('`').skip(1).step_by(2).filter(|span| span.starts_with("windlass "));
            found.extend(spans.map(|span| (index + 1, span.to_owned())));
        }
    }
    found
}

/// A subcommand or flag of a mention that Windlass does not have. What stands for a value need not be right.
fn unknown(said: &str) -> Option<String> {
    // clap makes it itself.
    if said.starts_with("windlass help") {
        return None;
    }
    let mut command = windlass::args::definition();
    command.build();
    let mut at = &command;
    let mut value_next = false;
    for word in said.split_whitespace().skip(1).map(|word| word.trim_matches(['[', ']', ','])) {
        let name = word.split('=').next().unwrap_or(word);
        if name.starts_with('-') && name.len() > 1 {
            let known = at.get_arguments().find(|arg| {
                name.strip_prefix("--").is_some_and(|long| arg.get_long() == Some(long))
                    || name
                        .strip_prefix('-')
                        .is_some_and(|short| arg.get_short().map(String::from).as_deref() == Some(short))
            });
            let Some(known) = known else { return Some(format!("{} has no {name}", at.get_name())) };
            value_next = known.get_action().takes_values() && !word.contains('=');
        } else if std::mem::take(&mut value_next) {
        } else if let Some(next) = at.find_subcommand(word) {
            at = next;
        } else if at.has_subcommands()
            && at.get_positionals().next().is_none()
            && word.chars().all(|c| c.is_ascii_lowercase())
        {
            return Some(format!("{} has no command {word}", at.get_name()));
        }
    }
    None
}

pub(crate) fn documents() -> Vec<PathBuf> {
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
fn every_command_in_the_documents_is_one_that_windlass_or_cargo_knows() {
    let mut broken = Vec::new();
    let (mut checked, mut mentioned) = (0, 0);
    for path in documents() {
        let text = std::fs::read_to_string(&path).unwrap();
        for block in &blocks(&name_of(&path), &text) {
            let whole = [block.unreadable(), wrong_mark(block)];
            broken.extend(whole.into_iter().flatten().map(|why| format!("{}: {why}", block.place)));
            for command in commands(block) {
                // A transcript has output, too.
                let typed = if block.holds_commands() { Some(&command[..]) } else { command.strip_prefix("$ ") };
                checked += usize::from(typed.is_some());
                broken.extend(typed.and_then(wrong).map(|why| format!("{}: {command}: {why}", block.place)));
            }
        }
        for (line, said) in mentions(&text) {
            mentioned += 1;
            broken.extend(unknown(&said).map(|why| format!("{}:{line}: `{said}`: {why}", name_of(&path))));
        }
    }
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
    assert!(checked > 80 && mentioned > 150, "only {checked} commands and {mentioned} mentions were found");
}

#[test]
fn commands_that_do_not_work_are_found() {
    let text =
        "words\n```\nwindlass run x \\\n  --nonsense\nwindlass list  # all\ncargo test -p nobody\nwindlass 'x\n```\n";
    let [block] = &blocks("x.md", text)[..] else { panic!("one block") };
    let found: Vec<bool> = commands(block).iter().map(|command| wrong(command).is_some()).collect();
    assert_eq!(found, [true, false, true, true]);
    let hidden = blocks("x.md", "```text\nwindlass run x\n```\n<!-- checked: by somebody -->\n```zsh\nls\n```\n");
    assert!(hidden[0].unreadable().is_some() && hidden[1].unreadable().is_some() && wrong_mark(&hidden[1]).is_some());
    let said =
        "`windlass list --al` and `windlass nothing`, `windlass run GOAL --gate=x -C DIR`\n```\n`windlass x`\n```\n";
    let found: Vec<bool> = mentions(said).iter().map(|(_, said)| unknown(said).is_some()).collect();
    assert_eq!(found, [true, true, false]);
}
