//! Git objects, named and written without starting git.
//!
//! Invariant: an object has the name that git gives it, and is whole under that name or not there.

use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY, SHA256};

use crate::git::hex;

/// The name of an object; of a SHA-1 repository's the first twenty bytes count.
pub(super) type Id = [u8; 32];

/// Tells the temporary files of one process apart.
static NEXT: AtomicU64 = AtomicU64::new(0);

pub(super) fn id_of(kind: &str, content: &[u8], id_len: usize) -> Id {
    let mut context = Context::new(if id_len == 20 { &SHA1_FOR_LEGACY_USE_ONLY } else { &SHA256 });
    context.update(header(kind, content).as_bytes());
    context.update(content);
    let mut id = [0; 32];
    id[..id_len].copy_from_slice(context.finish().as_ref());
    id
}

fn header(kind: &str, content: &[u8]) -> String {
    format!("{kind} {}\0", content.len())
}

/// Writes an object into a store, unless it is there.
pub(super) fn write(objects: &Path, kind: &str, content: &[u8], id: &[u8]) -> io::Result<()> {
    let name = hex(id);
    let dir = objects.join(&name[..2]);
    let place = dir.join(&name[2..]);
    if place.exists() {
        return Ok(());
    }
    // Git's own name for such files, so that `git prune` removes what a killed process left.
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let temporary = dir.join(format!("tmp_obj_windlass-{}-{number}", std::process::id()));
    let open = || std::fs::OpenOptions::new().write(true).create_new(true).mode(0o444).open(&temporary);
    let mut file = match open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => match std::fs::create_dir(&dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Ok(()) | Err(_) => open()?,
        },
        other => other?,
    };
    let plain = [header(kind, content).as_bytes(), content].concat();
    file.write_all(&stored(&plain)).and_then(|()| std::fs::rename(&temporary, &place)).inspect_err(|_| {
        let _ = std::fs::remove_file(&temporary);
    })
}

/// In zlib's format, which git reads, without compression: trees and commits are small, and packing compresses them.
fn stored(plain: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(plain.len() + plain.len() / 1000 + 16);
    out.extend([0x78, 0x01]);
    let mut rest = plain;
    loop {
        let (block, after) = rest.split_at(rest.len().min(usize::from(u16::MAX)));
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        out.push(u8::from(after.is_empty()));
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend(block);
        if after.is_empty() {
            break;
        }
        rest = after;
    }
    out.extend(adler32(plain).to_be_bytes());
    out
}

fn adler32(bytes: &[u8]) -> u32 {
    const BASE: u32 = 65_521;
    let (mut a, mut b) = (1_u32, 0_u32);
    // So many bytes fit before either sum can overflow.
    for chunk in bytes.chunks(5_552) {
        for &byte in chunk {
            a += u32::from(byte);
            b += a;
        }
        a %= BASE;
        b %= BASE;
    }
    (b << 16) | a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_git_gives() {
        assert_eq!(hex(&id_of("tree", b"", 20)[..20]), "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
        let sha256 = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";
        assert_eq!(hex(&id_of("tree", b"", 32)), sha256);
    }

    #[test]
    fn checksums_are_those_of_zlib() {
        assert_eq!(adler32(b"Wikipedia"), 0x11E6_0398);
        assert_eq!(adler32(&[0xff; 100_000]), adler32_slowly(&[0xff; 100_000]));
    }

    fn adler32_slowly(bytes: &[u8]) -> u32 {
        let (a, b) = bytes.iter().fold((1, 0), |(a, b), &byte| {
            let a = (a + u32::from(byte)) % 65_521;
            (a, (a + b) % 65_521)
        });
        (b << 16) | a
    }
}
