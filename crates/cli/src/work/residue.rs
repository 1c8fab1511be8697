//! What loops left behind, as `clean` tells it.

use std::fmt::Write as _;

use windlass_app::Residue;

pub fn words(residue: &[Residue], dry_run: bool) -> String {
    let mut text = String::new();
    for Residue { name, found, left, .. } in residue {
        for one in found {
            let what = format!("{name}: {} {}", one.kind.name(), one.what);
            let _ = if dry_run {
                writeln!(text, "would remove  {what}")
            } else if left.contains(one) {
                writeln!(text, "kept      {what} (fix: {})", one.fix)
            } else {
                writeln!(text, "removed   {what}")
            };
        }
    }
    text
}
