//! What a crate shows to others, and whether anybody looks.
//!
//! An item is shown if it is `pub` at the top of a file that public modules lead to, or named by a `pub use` there. It is
//! used if its name is a word in another crate, in `fleet/` or `fuzz/`, or in the crate's own programs, tests or
//! benchmarks; a type also if it is part of another public item. Names are compared, not resolved, so an item with the name
//! of something else may be missed, but none is reported wrongly.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::source::Source;
use crate::workspace::{Crate, files_below, workspace_root};

/// Something that a crate shows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) name: String,
    /// A type can be needed by those who never name it.
    pub(crate) is_type: bool,
    pub(crate) file: PathBuf,
    pub(crate) line: usize,
}

/// Each crate with what it shows and nobody uses.
pub(crate) fn unused(crates: &BTreeMap<String, Crate>) -> Vec<(String, Item)> {
    let mut words: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (name, one) in crates {
        let sources = ["src", "tests", "benches", "examples"].map(|under| one.sources(under));
        words.insert(name, sources.iter().flatten().flat_map(words_of).collect());
    }
    for outside in ["fleet", "fuzz"] {
        let sources = files_below(&workspace_root().join(outside)).into_iter().map(|path| Source::read(&path));
        words.insert(outside, sources.flat_map(|source| words_of(&source)).collect());
    }
    let mut unused = Vec::new();
    for (name, one) in crates.iter().filter(|(_, one)| one.dir.join("src/lib.rs").is_file()) {
        let inside = one.sources("src");
        let parts: Vec<(String, BTreeSet<String>)> = inside.iter().flat_map(parts).collect();
        let own: BTreeSet<String> = own_users(one).iter().flat_map(words_of).collect();
        let is_used = |item: &Item| {
            let by_others = words.iter().any(|(other, words)| other != name && words.contains(&item.name));
            let is_part = || parts.iter().any(|(of, words)| *of != item.name && words.contains(&item.name));
            by_others || own.contains(&item.name) || (item.is_type && is_part())
        };
        let shown = shown(&one.dir.join("src/lib.rs"), &one.dir.join("src"));
        unused.extend(shown.into_iter().filter(|item| !is_used(item)).map(|item| (name.clone(), item)));
    }
    unused
}

/// What is in the crate's directory and sees only what it shows.
fn own_users(one: &Crate) -> Vec<Source> {
    let programs = one.sources("src").into_iter().filter(|s| {
        let inside = s.path.strip_prefix(one.dir.join("src")).unwrap_or(&s.path);
        inside.starts_with("bin") || inside == Path::new("main.rs")
    });
    programs.chain(["tests", "benches", "examples"].iter().flat_map(|under| one.sources(under))).collect()
}

fn words_of(source: &Source) -> Vec<String> {
    split(&source.code)
}

fn split(text: &str) -> Vec<String> {
    let part = |c: char| c != '_' && !c.is_ascii_alphanumeric();
    text.split(part).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// What a file and the public modules below it show.
fn shown(file: &Path, dir: &Path) -> Vec<Item> {
    let source = Source::read(file);
    let mut items = shown_by(&source);
    for module in public(&source, true).filter_map(|at| name_after(&source.code[at..], "mod")) {
        let below = dir.join(&module);
        let files = [below.with_extension("rs"), below.join("mod.rs")];
        for file in files.iter().filter(|file| file.is_file()) {
            items.extend(shown(file, &below));
        }
    }
    items
}

fn shown_by(source: &Source) -> Vec<Item> {
    let mut items = Vec::new();
    for at in public(source, true) {
        let mut add = |name: String, is_type| {
            items.push(Item { name, is_type, file: source.path.clone(), line: source.line_of(at) });
        };
        let text = &source.code[at..];
        if let Some(used) = text.strip_prefix("use ") {
            let used = used.split(';').next().unwrap_or_default();
            let named = used.split([',', '{', '}']).map(|path| path.rsplit("::").next().unwrap_or_default().trim());
            let named = named.map(|name| name.rsplit(" as ").next().unwrap_or_default().trim());
            named.filter(|name| !matches!(*name, "" | "*" | "self")).for_each(|name| add(name.to_owned(), true));
        } else if let Some((kind, name)) = declared(text) {
            add(name, !matches!(kind, "fn" | "const" | "static"));
        }
    }
    items
}

/// The public items of a file with the words that they are made of: signatures, fields and variants.
fn parts(source: &Source) -> Vec<(String, BTreeSet<String>)> {
    let mut parts = Vec::new();
    for at in public(source, false) {
        let text = &source.code[at..];
        let Some((kind, name)) = declared(text) else { continue };
        let end = match kind {
            "struct" | "enum" | "trait" | "union" => closed(text),
            "const" | "static" => text.find(['=', ';']),
            _ => text.find(['{', ';']),
        };
        parts.push((name, split(&text[..end.unwrap_or(text.len())]).into_iter().collect()));
    }
    // What a trait of others is told about, such as `type Report = …`.
    for at in source.words("type") {
        let text = source.code[at..].split(';').next().unwrap_or_default();
        let named = text.split_once('=').map(|(_, named)| split(named)).unwrap_or_default();
        parts.push((String::new(), named.into_iter().collect()));
    }
    parts
}

/// Where an item with a body ends, or one that has none.
fn closed(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    text.char_indices().find_map(|(at, c)| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        (depth == 0 && matches!(c, '}' | ';')).then_some(at)
    })
}

/// The offsets behind each `pub` outside test modules; those in bodies too unless only the `top` of the file counts.
fn public(source: &Source, top: bool) -> impl Iterator<Item = usize> + '_ {
    let tests = source.test_modules();
    let mut depth = vec![0_u32; source.code.len() + 1];
    for (at, byte) in source.code.bytes().enumerate() {
        depth[at + 1] = match byte {
            b'{' => depth[at] + 1,
            b'}' => depth[at].saturating_sub(1),
            _ => depth[at],
        };
    }
    let of_item = move |at: &usize| (!top || depth[*at] == 0) && !tests.iter().any(|test| test.contains(at));
    let behind = |at: usize| {
        let rest = source.code[at + 3..].trim_start();
        source.code.len() - rest.len()
    };
    source.words("pub").filter(of_item).map(behind).filter(|at| !source.code[*at..].starts_with('('))
}

/// Kind and name of the item that begins here.
fn declared(text: &str) -> Option<(&'static str, String)> {
    const KINDS: [&str; 8] = ["fn", "struct", "enum", "trait", "type", "static", "union", "const"];
    let text = ["const fn", "async fn", "unsafe fn", "const unsafe fn", "async unsafe fn"]
        .iter()
        .find_map(|before| Some(&text[text.starts_with(*before).then_some(before.len() - 2)?..]))
        .unwrap_or(text);
    KINDS.into_iter().find_map(|kind| Some((kind, name_after(text, kind)?)))
}

/// The name in `word name …`.
fn name_after(text: &str, word: &str) -> Option<String> {
    let rest = text.strip_prefix(word)?.strip_prefix([' ', '\n'])?;
    split(rest.split(['<', '(', ':', ';', '=', '{']).next()?).into_iter().next()
}

#[test]
fn what_a_file_shows_is_found_with_what_it_is_made_of() {
    let text =
        "pub use inner::{One, two as Three}; pub(crate) fn hidden() {} pub const fn four(a: Five) -> Six { pub_not() }
        pub struct Seven<T> { pub eight: Nine } impl X { pub fn method(&self) -> Ten {} }
        impl Trait for X { type Report = Eleven; } pub mod deeper; #[cfg(test)] mod tests { pub fn never() {} }";
    let source = Source::new(Path::new("x.rs"), text.to_owned());
    let shown: Vec<_> = shown_by(&source).into_iter().map(|item| (item.name, item.is_type)).collect();
    let expected = [("One", true), ("Three", true), ("four", false), ("Seven", true)];
    assert_eq!(shown, expected.map(|(name, is_type)| (name.to_owned(), is_type)));
    let parts: BTreeMap<String, BTreeSet<String>> = parts(&source).into_iter().collect();
    assert!(parts[""].contains("Eleven"));
    assert!(parts["four"].contains("Six") && parts["Seven"].contains("Nine") && parts["method"].contains("Ten"));
    let modules: Vec<_> = public(&source, true).filter_map(|at| name_after(&source.code[at..], "mod")).collect();
    assert_eq!(modules, ["deeper"]);
}
