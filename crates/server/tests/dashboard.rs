//! The dashboard in the binary is the one that `web/` has the sources of.
//!
//! Needs no Node: `npm run pack` writes a digest of the sources next to the built files.

use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA256, digest};

/// What `web/scripts/pack.mjs` reads.
const SOURCES: [&str; 7] =
    ["index.html", "package-lock.json", "package.json", "public", "src", "tsconfig.json", "vite.config.ts"];

fn files(path: &Path, found: &mut Vec<PathBuf>) {
    if !path.is_dir() {
        return found.push(path.to_owned());
    }
    for entry in std::fs::read_dir(path).unwrap() {
        files(&entry.unwrap().path(), found);
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn built_files_match_the_sources() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let web = here.join("../../web");
    let mut found = Vec::new();
    for name in SOURCES {
        files(&web.join(name), &mut found);
    }
    let mut names: Vec<String> =
        found.iter().map(|path| path.strip_prefix(&web).unwrap().to_str().unwrap().replace('\\', "/")).collect();
    names.sort();
    let mut whole = Context::new(&SHA256);
    for name in names {
        let bytes = std::fs::read(web.join(&name)).unwrap();
        whole.update(format!("{name}\0{}\n", hex(digest(&SHA256, &bytes).as_ref())).as_bytes());
    }
    let packed = std::fs::read_to_string(here.join("dashboard/sources.sha256")).unwrap();
    assert_eq!(
        packed.trim(),
        hex(whole.finish().as_ref()),
        "run `npm ci && npm run pack` in web/ and commit the result"
    );
}
