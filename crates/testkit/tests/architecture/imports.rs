//! Which top-level modules of a crate import each other.
//!
//! Only what is shipped counts: test modules may look anywhere. An import through a name that the crate's root
//! re-exports is one of the module that has it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::source::Source;
use crate::workspace::Crate;

/// Who imports whom, by the names of top-level modules.
pub(crate) type Imports = BTreeMap<String, BTreeSet<String>>;

pub(crate) fn imports(one: &Crate) -> Imports {
    let src = one.dir.join("src");
    let (roots, inside): (Vec<Source>, Vec<Source>) = one
        .sources("src")
        .into_iter()
        .partition(|s| matches!(module_path(&src, &s.path), Some(path) if path.is_empty()));
    let mut imports: Imports = BTreeMap::new();
    let inside: Vec<(Vec<String>, Source)> =
        inside.into_iter().filter_map(|s| Some((module_path(&src, &s.path)?, s))).collect();
    for (path, _) in &inside {
        imports.entry(path[0].clone()).or_default();
    }
    let shown_again: BTreeMap<String, String> = roots.iter().flat_map(re_exports).collect();
    for (path, source) in &inside {
        for name in names_at_root(source, path.len()) {
            let module = if imports.contains_key(&name) { Some(name) } else { shown_again.get(&name).cloned() };
            if let Some(module) = module.filter(|m| *m != path[0] && imports.contains_key(m)) {
                imports.entry(path[0].clone()).or_default().insert(module);
            }
        }
    }
    imports
}

/// The groups of modules that all point to each other.
pub(crate) fn tangles(imports: &Imports) -> Vec<Vec<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> = imports.keys().map(|m| (m, reached_from(m, imports))).collect();
    let mut tangles: BTreeSet<Vec<String>> = BTreeSet::new();
    for (module, reached_from_it) in &reached {
        if reached_from_it.contains(module) {
            let mutual = reached_from_it.iter().filter(|other| reached[**other].contains(*module));
            tangles.insert(mutual.map(|m| (*m).clone()).collect());
        }
    }
    tangles.into_iter().collect()
}

fn reached_from<'a>(module: &str, imports: &'a Imports) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&String> = imports.get(module).into_iter().flatten().collect();
    while let Some(found) = next.pop() {
        if reached.insert(found) {
            next.extend(imports.get(found).into_iter().flatten());
        }
    }
    reached
}

/// The modules that point to a file; none for the root. `None` for programs beside the library, and for tests.
fn module_path(src: &Path, file: &Path) -> Option<Vec<String>> {
    let inside = file.strip_prefix(src).ok()?.with_extension("");
    let mut path: Vec<String> = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if path.first().is_some_and(|p| p == "bin") || path.iter().any(|p| p == "tests") {
        return None;
    }
    if path.last().is_some_and(|p| p == "mod") || path.len() == 1 && matches!(path[0].as_str(), "lib" | "main") {
        path.pop();
    }
    Some(path)
}

/// Names that a file takes from the root of its crate: after `crate::`, or after as many `super::` as it is deep.
fn names_at_root(source: &Source, depth: usize) -> BTreeSet<String> {
    let tests = source.test_modules();
    let up = "super::".repeat(depth);
    let from_crate = source.words("crate").map(|at| (at, at + "crate".len()));
    let from_super = source.words("super").map(|at| (at, at + up.len() - 2));
    let mut names = BTreeSet::new();
    for (at, end) in from_crate.chain(from_super) {
        let whole = source.code[at..].starts_with("crate") || source.code[at..].starts_with(&up);
        let first = !source.code[..at].ends_with("::");
        if let Some(rest) = source.code.get(end..).and_then(|rest| rest.strip_prefix("::"))
            && whole
            && first
            && !tests.iter().any(|t| t.contains(&at))
        {
            names.extend(first_names(rest));
        }
    }
    names.remove("super");
    names
}

/// The first names of `a::b`, or of each of `{a::b, c}`.
fn first_names(text: &str) -> Vec<String> {
    let name =
        |text: &str| text.trim().chars().take_while(|c| *c == '_' || c.is_ascii_alphanumeric()).collect::<String>();
    let Some(group) = text.strip_prefix('{') else { return vec![name(text)] };
    let (mut depth, mut names, mut start) = (0_usize, Vec::new(), 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                names.push(name(&group[start..at]));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    names
}

/// The names that the root shows of its modules: name → module.
fn re_exports(root: &Source) -> Vec<(String, String)> {
    let mut shown = Vec::new();
    for at in root.words("use") {
        let Some((path, _)) = root.code[at + 3..].split_once(';') else { continue };
        let path = path.trim().trim_start_matches("self::").trim_start_matches("crate::");
        let Some((module, names)) = path.split_once("::") else { continue };
        let part = |c: char| c != '_' && !c.is_ascii_alphanumeric();
        shown.extend(names.split(part).filter(|n| !n.is_empty()).map(|n| (n.to_owned(), module.to_owned())));
    }
    shown
}

#[test]
fn imports_are_seen_in_every_form_and_mutual_ones_are_a_tangle() {
    let source = |text: &str| Source::new(Path::new("x.rs"), text.to_owned());
    let text = "use crate::{a::{b, c}, d}; fn f() { crate::e::g(); super::h::i(); }
        #[cfg(test)] mod tests { use crate::never::x; use super::*; }";
    let names: Vec<String> = names_at_root(&source(text), 1).into_iter().collect();
    assert_eq!(names, ["a", "d", "e", "h"]);
    let deeper: Vec<String> =
        names_at_root(&source("use super::sibling; use super::super::other::X;"), 2).into_iter().collect();
    assert_eq!(deeper, ["other"]);
    let edges = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("e", "a")];
    let mut imports: Imports = "abcde".chars().map(|m| (m.to_string(), BTreeSet::new())).collect();
    for (from, to) in edges {
        imports.entry(from.into()).or_default().insert(to.into());
    }
    assert_eq!(tangles(&imports), [["a", "b", "c"]]);
    assert_eq!(re_exports(&source("pub use engine::{Engine, Mode as M};"))[0], ("Engine".into(), "engine".into()));
}
