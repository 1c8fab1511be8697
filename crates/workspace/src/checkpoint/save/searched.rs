//! Looks for secrets in what an agent made before a ref keeps it in the user's repository.
//!
//! Invariant: no ref of the user's repository comes to a commit, tag, file or name with a secret that the base has not. What
//! holds one is kept as a bundle in Windlass's own directory instead, from which `git fetch` brings it back.

use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use super::SavedRef;
use crate::checkpoint::hold_back::{Unwanted, in_name, next_object, places};
use crate::git::{FilePath, Git, GitError};
use crate::{Workspace, WorkspaceError};

/// Larger files are not looked at.
const LARGEST: u64 = 8 << 20;
/// With more objects it is not searched, and so not kept as a ref.
const MOST_OBJECTS: usize = 200_000;
/// So many objects are asked for at once, to use little memory.
const AT_ONCE: usize = 16;
/// Of the engine's own git directory, and so in no other repository.
const OWN_REF: &str = "refs/worktree/held";

/// Where something is kept that no ref may keep, if it holds a secret.
pub(super) async fn set_aside(
    git: &Git,
    workspace: &Workspace,
    name: &str,
    commit: &str,
) -> Result<Option<SavedRef>, WorkspaceError> {
    let bundle = place(workspace, name, commit);
    let saved = SavedRef { name: bundle.to_string_lossy().into_owned(), commit: commit.to_owned() };
    if bundle.exists() {
        taint(git);
        return Ok(Some(saved));
    }
    let rules = Unwanted::default();
    if secret_in(git, workspace, commit, &["--all".to_owned()], &rules).await?.is_none() {
        return Ok(None);
    }
    taint(git);
    if let Some(dir) = bundle.parent() {
        let mut private = std::fs::DirBuilder::new();
        private.recursive(true).mode(0o700).create(dir).map_err(WorkspaceError::file("create", dir))?;
    }
    git.run(&["update-ref", OWN_REF, commit]).await?;
    let mut args = vec!["bundle", "create", "--quiet", &saved.name, OWN_REF];
    let base = format!("^{}", workspace.base_commit);
    // The repository of a submodule has no such commit.
    if git.commit(&workspace.base_commit).await?.is_some() {
        args.push(&base);
    }
    let made = git.run(&args).await;
    git.run(&["update-ref", "-d", OWN_REF]).await?;
    made?;
    Ok(Some(saved))
}

fn taint(git: &Git) {
    if let Some(held) = git.held() {
        held.taint();
    }
}

fn place(workspace: &Workspace, name: &str, commit: &str) -> PathBuf {
    let file = name.strip_prefix("refs/windlass/").unwrap_or(name).replace('/', "-");
    workspace.index.with_extension("held").join(format!("{file}-{}.bundle", &commit[..12]))
}

/// The secret in the commit or tag and all below it that `others` do not reach: refs, in the words of `git rev-list`.
pub(super) async fn secret_in(
    git: &Git,
    workspace: &Workspace,
    tip: &str,
    others: &[String],
    unwanted: &Unwanted,
) -> Result<Option<String>, GitError> {
    let limit = format!("--filter=blob:limit={LARGEST}");
    let new = ["rev-list", "--objects", &limit, tip, "--not"].into_iter().chain(others.iter().map(String::as_str));
    let new: Vec<&str> = new.chain(["--"]).collect();
    let listed = git.run(&new).await?;
    let lines = listed.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    let objects: Vec<(String, FilePath)> = lines
        .map(|line| {
            let end = line.iter().position(|&byte| byte == b' ').unwrap_or(line.len());
            (String::from_utf8_lossy(&line[..end]).into_owned(), FilePath::new(line.get(end + 1..).unwrap_or_default()))
        })
        .collect();
    if objects.len() > MOST_OBJECTS {
        return Ok(Some("too large to scan".to_owned()));
    }
    let rules = &unwanted.secrets;
    let mut allowed = None;
    for some in objects.chunks(AT_ONCE) {
        let ids: String = some.iter().map(|(id, _)| format!("{id}\n")).collect();
        let output = git.call(&["cat-file", "--batch", "--buffer"]).input(ids).run().await?.stdout;
        let mut rest = output.as_slice();
        for (id, path) in some {
            let (kind, content) = next_object(&mut rest).ok_or_else(|| GitError::unexpected("cat-file", rest))?;
            let mut secrets = in_name(rules, path);
            match kind {
                "tree" => {}
                // With author, committer, tagger and every other header.
                "blob" | "commit" | "tag" => secrets.extend(places(rules, content)),
                _ => return Ok(Some(format!("an object of type {kind}"))),
            }
            if secrets.is_empty() {
                continue;
            }
            let before = format!("{}:{path}", workspace.base_commit);
            let known = match kind {
                "blob" => git.call(&["cat-file", "blob", &before]).answers(&[128]).run().await?.stdout,
                _ => Vec::new(),
            };
            let known = places(rules, &known);
            let Some(secret) = secrets.iter().find(|new| !known.iter().any(|old| old.value == new.value)) else {
                continue;
            };
            if allowed.is_none() {
                allowed = Some(in_allowed_files(git, &new, unwanted).await?);
            }
            if kind == "blob" && allowed.iter().flatten().any(|one| one == id) {
                continue;
            }
            return Ok(Some(match kind {
                "blob" => format!("{}: {}", rules.text(&path.to_string()), secret.name),
                _ => format!("{kind} {}: {}", &id[..12], secret.name),
            }));
        }
    }
    Ok(None)
}

/// The objects of files that may hold what looks like a secret.
async fn in_allowed_files(git: &Git, new: &[&str], unwanted: &Unwanted) -> Result<Vec<String>, GitError> {
    if unwanted.allowed.is_empty() {
        return Ok(Vec::new());
    }
    let globs: Vec<String> = unwanted.allowed.iter().map(|glob| format!(":(top,glob){glob}")).collect();
    let args: Vec<&str> = new.iter().copied().chain(globs.iter().map(String::as_str)).collect();
    let listed = git.run(&args).await?;
    let lines = listed.split(|&byte| byte == b'\n').filter_map(|line| line.split(|&byte| byte == b' ').next());
    Ok(lines.map(|id| String::from_utf8_lossy(id).into_owned()).collect())
}
