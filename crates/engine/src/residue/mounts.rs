//! Mounts that this process sees below some directories.

use std::path::{Path, PathBuf};

pub(super) fn below(dirs: &[&Path]) -> Vec<PathBuf> {
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    points(&table).into_iter().filter(|point| dirs.iter().any(|dir| point.starts_with(dir) && point != dir)).collect()
}

fn points(table: &str) -> Vec<PathBuf> {
    table.lines().filter_map(|line| line.split(' ').nth(4)).map(|point| PathBuf::from(unescaped(point))).collect()
}

/// Spaces and the like are written as three octal digits.
fn unescaped(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) => {
                plain.push(char::from(code));
                plain.push_str(&part[3..]);
            }
            None => {
                plain.push('\\');
                plain.push_str(part);
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_read_with_their_spaces() {
        let table =
            "36 35 98:0 / /mnt/with\\040space rw,noatime - ext3 /dev/root rw\n37 35 0:5 / /proc rw - proc p rw\n";
        assert_eq!(points(table), [Path::new("/mnt/with space"), Path::new("/proc")]);
    }

    #[test]
    fn what_is_mounted_below_is_found() {
        assert!(below(&[Path::new("/")]).contains(&PathBuf::from("/proc")));
        assert_eq!(below(&[Path::new("/no/such/place")]), Vec::<PathBuf>::new());
    }
}
