//! Links between the documents, and from them into the sources, lead somewhere.

use std::path::{Path, PathBuf};

use crate::hold;
use crate::workspace::{shown, workspace_root};

fn documents() -> Vec<PathBuf> {
    let root = workspace_root();
    let mut folders = vec![root.clone(), root.join("docs"), root.join("docs/how-to"), root.join("web")];
    let crates = std::fs::read_dir(root.join("crates")).expect("crates").flatten().map(|entry| entry.path());
    folders.extend(crates);
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten());
    let mut documents: Vec<PathBuf> =
        files.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "md")).collect();
    documents.sort();
    documents
}

/// What `](…)` names, outside of code blocks and without the place inside the file.
fn links(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    let mut code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            code = !code;
        }
        if code {
            continue;
        }
        for part in line.split("](").skip(1) {
            let target = part.split([')', '#', ' ']).next().unwrap_or_default();
            if !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:") {
                links.push(target.to_owned());
            }
        }
    }
    links
}

#[test]
fn links_in_documents_lead_somewhere() {
    let mut broken = Vec::new();
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap_or_else(|e| panic!("{}: {e}", document.display()));
        let folder = document.parent().unwrap_or(Path::new("."));
        let missing = links(&text).into_iter().filter(|link| !folder.join(link).exists());
        broken.extend(missing.map(|link| format!("{}: {link} does not exist", shown(&document))));
    }
    hold("links in documents lead somewhere", &broken);
}

#[test]
fn links_are_read_outside_of_code() {
    let text = "[a](b.md#c) and [x](https://x.org)\n```\n[no](code.md)\n```\n![i](p.png)";
    assert_eq!(links(text), ["b.md", "p.png"]);
}
