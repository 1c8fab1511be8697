//! Committed links that lead out of the tree, and files that name the workspace.
//!
//! Invariant: a link that an agent committed never shows a judgement what is in no commit. In a new clone on another
//! machine such a link leads to nothing, or to something else. Links that the base has are the user's, and a link that
//! leads to nothing here is the same everywhere.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::checkpoint::hold_back::next_object;
use crate::git::{FilePath, Git, GitError, Index, hex};
use crate::submodules::{pointers, users};
use crate::{Workspace, WorkspaceError, Workspaces};

const LINK: u32 = 0o120_000;
/// The kernel follows so many links and no more.
const MOST_LINKS: usize = 40;
/// Leads to nothing on every machine.
const NOWHERE: &[u8] = b"/dev/null";

/// Where each link of a commit leads, by its path from the top.
type Links = HashMap<Vec<u8>, Vec<u8>>;

/// A link, and what it leads to outside: an absolute path, one from the top that begins with `..`, or one in a `.git`.
#[derive(Debug, PartialEq, Eq)]
struct LeadsOut {
    path: Vec<u8>,
    to: Vec<u8>,
}

impl Workspaces {
    /// The links of the commit in the engine's index that lead to something outside its tree, other than those of the
    /// base, each with where it leads. `tops` are the directories in which the tree is checked out.
    pub async fn links_out(
        &self,
        workspace: &Workspace,
        base: &str,
        tops: &[PathBuf],
    ) -> Result<Vec<String>, WorkspaceError> {
        let index = Index::read(&workspace.index, workspace.id_len).unwrap_or_default();
        let entries = index.entries.iter().filter(|entry| entry.file_type() == LINK);
        let listed: Vec<_> = entries.map(|entry| (entry.path.clone(), hex(&entry.id[..workspace.id_len]))).collect();
        let within = pointers(&workspace.index, None, workspace.id_len);
        if listed.is_empty() && within.is_empty() {
            return Ok(Vec::new());
        }
        let git = self.home_git(workspace);
        let mut links = targets(&git, listed).await?;
        for pointer in within {
            links.extend(self.links_within(workspace, &pointer.path, &pointer.commit).await?);
        }
        let mut found = leading_out(&links);
        found.retain(|link| is_there(&link.to, tops));
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let (listed, within) = listed_in(&git, base).await?;
        let mut before = targets(&git, listed).await?;
        for (path, commit) in within {
            before.extend(self.links_within(workspace, &FilePath::new(path), &commit).await?);
        }
        let before = leading_out(&before);
        found.retain(|link| !before.contains(link));
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found.iter().map(LeadsOut::words).collect())
    }

    /// The files of a commit that name this directory, by their paths.
    pub async fn files_naming(
        &self,
        workspace: &Workspace,
        commit: &str,
        dir: &Path,
    ) -> Result<Vec<String>, WorkspaceError> {
        let name = dir.to_string_lossy();
        let args = ["grep", "-F", "-l", "-z", "--no-color", "-e", &name, commit, "--"];
        let found = self.home_git(workspace).call(&args).answers(&[1]).run().await?.stdout;
        let names = found.split(|&byte| byte == 0).filter(|name| !name.is_empty());
        let path = |name: &[u8]| FilePath::new(name.get(commit.len() + 1..).unwrap_or_default()).to_string();
        Ok(names.map(path).collect())
    }

    /// Links of a submodule's commit, if it is on this machine; if it is not, its directory is empty for gates.
    async fn links_within(
        &self,
        workspace: &Workspace,
        path: &FilePath,
        commit: &str,
    ) -> Result<Links, WorkspaceError> {
        let repositories = workspace.submodules.iter().map(|module| users(&self.host, &module.git_dir));
        for git in repositories {
            if git.commit(commit).await?.is_none() {
                continue;
            }
            let (listed, within) = listed_in(&git, commit).await?;
            let below = |inside: &[u8]| [path.as_bytes(), b"/", inside].concat();
            let own = targets(&git, listed).await?;
            let mut links: Links = own.into_iter().map(|(link, target)| (below(&link), target)).collect();
            for (inside, commit) in within {
                // A pointer is part of the commit that it names, so none leads back here.
                let inside = FilePath::new(below(&inside));
                links.extend(Box::pin(self.links_within(workspace, &inside, &commit)).await?);
            }
            return Ok(links);
        }
        Ok(Links::new())
    }
}

impl LeadsOut {
    fn words(&self) -> String {
        let path = FilePath::new(self.path.clone());
        format!("{path} (a link to {}, outside the repository)", String::from_utf8_lossy(&self.to))
    }
}

/// Paths with ids: links, and submodules.
type Listed = (Vec<(Vec<u8>, String)>, Vec<(Vec<u8>, String)>);

async fn listed_in(git: &Git, commit: &str) -> Result<Listed, GitError> {
    let listed = git.run(&["ls-tree", "-r", "-z", "--full-tree", commit]).await?;
    let (mut links, mut within) = (Vec::new(), Vec::new());
    for entry in listed.split(|&byte| byte == 0).filter(|entry| !entry.is_empty()) {
        let unexpected = || GitError::unexpected("ls-tree", entry);
        let tab = entry.iter().position(|&byte| byte == b'\t').ok_or_else(unexpected)?;
        let facts = std::str::from_utf8(&entry[..tab]).map_err(|_| unexpected())?;
        let id = facts.rsplit(' ').next().unwrap_or_default().to_owned();
        match facts.split(' ').next() {
            Some("120000") => links.push((entry[tab + 1..].to_vec(), id)),
            Some("160000") => within.push((entry[tab + 1..].to_vec(), id)),
            Some(_) | None => {}
        }
    }
    Ok((links, within))
}

async fn targets(git: &Git, links: Vec<(Vec<u8>, String)>) -> Result<Links, GitError> {
    if links.is_empty() {
        return Ok(Links::new());
    }
    let ids: String = links.iter().map(|(_, id)| format!("{id}\n")).collect();
    let output = git.call(&["cat-file", "--batch", "--buffer"]).input(ids).run().await?.stdout;
    let mut rest = &output[..];
    let mut found = Links::new();
    for (path, _) in links {
        let (_, target) = next_object(&mut rest).ok_or_else(|| GitError::unexpected("cat-file", rest))?;
        found.insert(path, target.to_vec());
    }
    Ok(found)
}

fn leading_out(links: &Links) -> Vec<LeadsOut> {
    let out = |path: &Vec<u8>| follow(links, path).map(|to| LeadsOut { path: path.clone(), to });
    links.keys().filter_map(out).filter(|link| link.to != NOWHERE).collect()
}

/// Where a link leads outside the commit's tree, through other links of it; none if it stays inside or leads in circles.
fn follow(links: &Links, link: &[u8]) -> Option<Vec<u8>> {
    let parts = |path: &[u8]| path.split(|&byte| byte == b'/').map(<[u8]>::to_vec).collect::<VecDeque<_>>();
    let (mut at, mut left) = (Vec::<Vec<u8>>::new(), parts(link));
    let mut followed = 0;
    while let Some(part) = left.pop_front() {
        match &part[..] {
            b"" | b"." => {}
            b".." => {
                if at.pop().is_none() {
                    left.push_front(part);
                    return Some(joined(&left));
                }
            }
            // A commit has no such path: whatever is there belongs to the clone.
            b".git" => {
                left.push_front(part);
                at.extend(left);
                return Some(at.join(&b'/'));
            }
            _ => {
                at.push(part);
                let here = at.join(&b'/');
                let Some(target) = links.get(&here) else { continue };
                followed += 1;
                if followed > MOST_LINKS {
                    return None;
                }
                let mut rest = parts(target);
                rest.append(&mut left);
                left = rest;
                if target.starts_with(b"/") {
                    return Some(joined(&left));
                }
                at.pop();
            }
        }
    }
    None
}

fn joined(parts: &VecDeque<Vec<u8>>) -> Vec<u8> {
    parts.iter().cloned().collect::<Vec<_>>().join(&b'/')
}

/// Whether something is there, seen from any of the directories. What cannot be looked at counts.
fn is_there(to: &[u8], tops: &[PathBuf]) -> bool {
    let to = Path::new(OsStr::from_bytes(to));
    let missing = |path: PathBuf| {
        let gone = [ErrorKind::NotFound, ErrorKind::NotADirectory];
        std::fs::metadata(path).is_err_and(|error| gone.contains(&error.kind()))
    };
    let up = to.components().take_while(|part| *part == Component::ParentDir).count();
    let rest: PathBuf = to.components().skip(up).collect();
    // The checkout itself may not be made yet.
    let seen_from = |top: &PathBuf| top.ancestors().nth(up).unwrap_or(Path::new("/")).join(&rest);
    !tops.iter().all(|top| missing(seen_from(top)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn out(links: &[(&str, &str)], link: &str) -> Option<String> {
        let links = links.iter().map(|(path, to)| (path.as_bytes().to_vec(), to.as_bytes().to_vec())).collect();
        follow(&links, link.as_bytes()).map(|to| String::from_utf8(to).unwrap())
    }

    #[test]
    fn links_that_stay_in_the_tree_or_lead_in_circles_do_not_lead_out() {
        let links = [("a", "b/c"), ("deep/up", ".."), ("deep/x", "../a"), ("self", "self"), ("p", "q"), ("q", "p")];
        for (link, _) in links {
            assert_eq!(out(&links, link), None, "{link}");
        }
    }

    #[test]
    fn what_is_in_a_git_directory_is_outside() {
        let links = [("a", ".git/info/exclude"), ("sub/b", "../sub/deep/.git"), ("c", "a/../x"), ("d", ".github/x")];
        let leads: Vec<_> = links.iter().map(|(link, _)| out(&links, link).unwrap_or_default()).collect();
        assert_eq!(leads, [".git/info/exclude", "sub/deep/.git", ".git/info/exclude/../x", ""]);
    }

    #[test]
    fn what_is_above_a_checkout_that_is_not_made_yet_is_found() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("outside"), "").unwrap();
        let tops = [dir.path().join("tree")];
        assert!(is_there(b"../outside", &tops));
        assert!(is_there(dir.path().join("outside").as_os_str().as_bytes(), &tops));
        assert!(!is_there(b"../nothing", &tops) && !is_there(b"/does/not/exist", &tops));
    }

    #[test]
    fn absolute_links_and_those_above_the_top_lead_out_also_through_others() {
        let links = [
            ("abs", "/tmp/x"),
            ("up", "../x"),
            ("sub/up", "./../..//x"),
            ("via", "abs/more"),
            ("deep/l", ".."),
            // Read as text it would stay inside.
            ("deep/a", "l/../x"),
        ];
        let leads: Vec<_> = links.iter().map(|(link, _)| out(&links, link).unwrap_or_default()).collect();
        assert_eq!(leads, ["/tmp/x", "../x", "..//x", "/tmp/x/more", "", "../x"]);
    }
}
