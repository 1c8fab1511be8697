//! The trees that an index makes.
//!
//! Invariant: they are those of `git write-tree`. An index with anything that a tree cannot hold makes none.

use crate::git::Entry;

use super::objects::{Id, id_of};

/// Trees with their content, each after those that it holds; the last is the root.
pub(super) fn trees(entries: &[Entry], id_len: usize) -> Option<Vec<(Id, Vec<u8>)>> {
    let mut done = Vec::new();
    // Directories that are open, each with its path up to the slash.
    let mut open: Vec<(&[u8], Vec<u8>)> = vec![(b"", Vec::new())];
    // An index is sorted by whole paths, which is the order of each tree in it, where a directory counts with its slash.
    for entry in entries {
        if entry.stage != 0 || entry.is_to_be_added || entry.id == [0; 32] {
            return None;
        }
        while !entry.path.starts_with(open.last()?.0) {
            close(&mut open, &mut done, id_len)?;
        }
        let mut start = open.last()?.0.len();
        while let Some(length) = entry.path[start..].iter().position(|&byte| byte == b'/') {
            start += length + 1;
            open.push((&entry.path[..start], Vec::new()));
        }
        let name = &entry.path[start..];
        if name.is_empty() {
            return None;
        }
        add(&mut open.last_mut()?.1, &format!("{:o}", entry.mode), name, &entry.id[..id_len]);
    }
    while open.len() > 1 {
        close(&mut open, &mut done, id_len)?;
    }
    let (_, root) = open.pop()?;
    done.push((id_of("tree", &root, id_len), root));
    Some(done)
}

fn close(open: &mut Vec<(&[u8], Vec<u8>)>, done: &mut Vec<(Id, Vec<u8>)>, id_len: usize) -> Option<()> {
    let (path, content) = open.pop()?;
    let (parent, into) = open.last_mut()?;
    let id = id_of("tree", &content, id_len);
    add(into, "40000", &path[parent.len()..path.len() - 1], &id[..id_len]);
    done.push((id, content));
    Some(())
}

fn add(tree: &mut Vec<u8>, mode: &str, name: &[u8], id: &[u8]) {
    tree.extend(mode.as_bytes());
    tree.push(b' ');
    tree.extend(name);
    tree.push(0);
    tree.extend(id);
}
