//! The reference in the docs is the program's own.

use std::path::Path;

#[test]
// promise: cli-4
fn the_reference_is_what_the_program_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    let said = windlass::args::reference();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &said).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == said,
        "docs/cli.md is out of date; run: UPDATE=1 cargo test -p windlass --test loops usage_reference"
    );
}
