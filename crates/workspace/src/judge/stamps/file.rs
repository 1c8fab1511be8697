//! The file that stamps are kept in between judgements: numbers as they are in memory, directory after directory.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::{Listing, Stamp, Stamps, Version};

const MAGIC: &[u8] = b"windlass stamps 2\n";
/// One that was cut off must not be taken for the whole.
const END: &[u8] = b"end";

impl Stamps {
    pub(in super::super) fn write(&self, file: &Path) -> io::Result<()> {
        let mut bytes = MAGIC.to_vec();
        for (dir, listing) in &self.0 {
            put_name(&mut bytes, dir.as_os_str().as_bytes());
            bytes.extend((listing.0.len() as u64).to_le_bytes());
            for (name, stamp) in &listing.0 {
                put_name(&mut bytes, name);
                bytes.extend(stamp.mode.to_le_bytes());
                bytes.push(u8::from(stamp.file.is_some()));
                if let Some(Version { inode, size, seconds, nanos }) = stamp.file {
                    [inode, size].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
                    [seconds, nanos].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
                }
            }
        }
        bytes.extend(END);
        std::fs::write(file, bytes)
    }

    pub(in super::super) fn read(file: &Path) -> Option<Self> {
        let bytes = std::fs::read(file).ok()?;
        let mut rest = bytes.strip_prefix(MAGIC)?.strip_suffix(END)?;
        let mut stamps = HashMap::new();
        while !rest.is_empty() {
            let dir = PathBuf::from(OsString::from_vec(name(&mut rest)?.to_vec()));
            let count = u64::from_le_bytes(number(&mut rest)?);
            let listing = (0..count).map(|_| entry(&mut rest)).collect::<Option<Vec<_>>>()?;
            stamps.insert(dir, Listing(listing));
        }
        Some(Self(stamps))
    }
}

fn put_name(bytes: &mut Vec<u8>, name: &[u8]) {
    bytes.extend((name.len() as u64).to_le_bytes());
    bytes.extend_from_slice(name);
}

fn entry(rest: &mut &[u8]) -> Option<(Box<[u8]>, Stamp)> {
    let name = name(rest)?.into();
    let mode = u32::from_le_bytes(number(rest)?);
    let [is_file] = number(rest)?;
    let file = match is_file {
        0 => None,
        _ => Some(Version {
            inode: u64::from_le_bytes(number(rest)?),
            size: u64::from_le_bytes(number(rest)?),
            seconds: i64::from_le_bytes(number(rest)?),
            nanos: i64::from_le_bytes(number(rest)?),
        }),
    };
    Some((name, Stamp { mode, file }))
}

fn name<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(u64::from_le_bytes(number(rest)?)).ok()?;
    let (name, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(name)
}

fn number<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (bytes, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(*bytes)
}
