//! The clone that an agent works in, and the engine's own git directory beside it.
//!
//! The clone is its own repository in the workspace that borrows the user's objects and has nowhere to push to. The
//! engine works with `<loop>.git` beside the workspace, which no agent sees: HEAD and index of a worktree of the user's
//! repository, which is not registered there. So a checkpoint writes straight into the user's repository, with the
//! user's settings, and the clone follows. Invariant: the user's repository is changed by the engine alone, by refs of
//! this loop alone, and its checkout is never touched.

use std::path::{Path, PathBuf};

use super::attach::write;
use super::create::{checked_out_at, inherit_sparse_checkout};
use crate::agent_git::{AgentGit, failed};
use crate::git::{Git, HeadFile, TrustedConfig, head_of, own_settings};
use crate::{Workspace, WorkspaceError, Workspaces};

/// Where a borrowing repository names the lender.
const ALTERNATES: &str = "objects/info/alternates";

/// In the place of an address to push to.
const NO_PUSH: &str = "this-clone-pushes-nowhere";
/// Addresses on this machine that may be pushed to, as tests of git tools do.
const LOCAL: [&str; 6] = ["/", "./", "../", "file://", "http://localhost", "http://127.0.0.1"];

/// Settings that keep git from pushing by address, for the environment of an agent that no sandbox confines. Everything but
/// local paths is refused, and local paths if they are remotes of the user's.
pub fn push_rules(workspace: &Workspace) -> Vec<(String, String)> {
    let rule = |to: &str, from: &str| (format!("url.{to}.pushInsteadOf"), from.to_owned());
    let nowhere = format!("{NO_PUSH}/");
    let config = std::fs::read_to_string(workspace.home.common_dir.join("config")).unwrap_or_default();
    let mut rules = vec![rule(&nowhere, "")];
    rules.extend(LOCAL.iter().map(|local| rule(local, local)));
    for address in addresses(&config) {
        rules.push(rule(&nowhere, address));
        // The same repository in its other form.
        rules.extend(match address.strip_prefix("file://") {
            Some(path) => Some(rule(&nowhere, path)),
            None => address.starts_with('/').then(|| rule(&nowhere, &format!("file://{address}"))),
        });
    }
    rules
}

/// Values of `url` and `pushurl`, but for paths that lead elsewhere from another directory.
fn addresses(config: &str) -> impl Iterator<Item = &str> {
    let values = config.lines().filter_map(|line| {
        let (key, value) = line.split_once('=')?;
        let key = key.trim();
        (key.eq_ignore_ascii_case("url") || key.eq_ignore_ascii_case("pushurl")).then(|| value.trim().trim_matches('"'))
    });
    values.filter(|value| value.starts_with('/') || value.contains(':'))
}

impl Workspaces {
    pub(crate) async fn check_out_clone(&self, workspace: &mut Workspace) -> Result<(), WorkspaceError> {
        if workspace.dir.exists() && !borrows(workspace) {
            let empty = std::fs::read_dir(&workspace.dir).is_ok_and(|mut entries| entries.next().is_none());
            if !empty {
                return Err(WorkspaceError::DirectoryInTheWay { path: workspace.dir.clone() });
            }
            std::fs::remove_dir(&workspace.dir).map_err(WorkspaceError::file("remove", &workspace.dir))?;
        }
        self.make_own(workspace).await?;
        if !workspace.dir.exists() {
            let partial = self.furnish(workspace).await?;
            std::fs::rename(&partial, &workspace.dir).map_err(WorkspaceError::file("create", &workspace.dir))?;
        }
        let git = Git::repository(self.host.clone(), &workspace.git_dir, &workspace.common_dir);
        workspace.trusted = TrustedConfig::freeze(&git).await?;
        let git = git.work_tree(&workspace.dir).index(&workspace.index);
        if !workspace.index.exists() {
            // The index is written after the files, so its presence means that they are all there.
            let tip = workspace.loop_ref(&git).await?;
            let files = git.for_files_of(&workspace.base_commit, &tip).await?.with_network();
            files.run(&["read-tree", "--reset", "-u", &tip]).await?;
        }
        self.fill_submodules(&git, workspace).await?;
        self.publish(&git, workspace, &mut Vec::new()).await
    }

    /// Makes the engine's own git directory, unless it is there.
    pub(crate) async fn make_own(&self, workspace: &Workspace) -> Result<(), WorkspaceError> {
        let dir = &workspace.git_dir;
        if dir.join("HEAD").is_file() {
            return Ok(());
        }
        let reftable = workspace.common_dir.join("reftable").is_dir();
        std::fs::create_dir_all(dir).map_err(WorkspaceError::file("create", dir))?;
        write(&dir.join("commondir"), &format!("{}\n", workspace.common_dir.display()))?;
        let git = Git::repository(self.host.clone(), dir, &workspace.common_dir);
        inherit_sparse_checkout(&git, workspace).await?;
        if !reftable {
            return write(&dir.join("HEAD"), &format!("ref: {}\n", workspace.branch_ref()));
        }
        // HEAD is not a plain file there: only git can write it.
        std::fs::create_dir_all(dir.join("reftable")).map_err(WorkspaceError::file("create", dir))?;
        write(&dir.join("reftable/tables.list"), "")?;
        write(&dir.join("HEAD"), "ref: refs/heads/.invalid\n")?;
        Ok(git.run(&["symbolic-ref", "HEAD", &workspace.branch_ref()]).await.map(drop)?)
    }

    /// Makes the repository in a directory beside the workspace, whole before it gets its name.
    async fn furnish(&self, workspace: &Workspace) -> Result<PathBuf, WorkspaceError> {
        let mut partial = workspace.dir.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        if partial.exists() {
            crate::remove_tree(&partial).map_err(WorkspaceError::file("remove", &partial))?;
        }
        std::fs::create_dir_all(&partial).map_err(WorkspaceError::file("create", &partial))?;
        let home = &workspace.home.common_dir;
        let format = if workspace.id_len == 32 { "--object-format=sha256" } else { "--object-format=sha1" };
        let branch = format!("--initial-branch={}", workspace.branch);
        // The refs of a clone are read as files; an older git knows no other way and ignores the setting.
        Git::discover(self.host.clone(), &partial)
            .overriding(vec![("init.defaultRefFormat".to_owned(), "files".to_owned())])
            .run(&["init", "--quiet", "--template=", format, &branch])
            .await?;
        let git_dir = partial.join(".git");
        std::fs::create_dir_all(git_dir.join("info")).map_err(WorkspaceError::file("create", &git_dir))?;
        std::fs::create_dir_all(git_dir.join("objects/info")).map_err(WorkspaceError::file("create", &git_dir))?;
        write(&git_dir.join(ALTERNATES), &lender(workspace))?;
        let own = &workspace.home.git_dir;
        for (from, file) in
            [(home, "info/exclude"), (home, "info/attributes"), (home, "shallow"), (own, "info/sparse-checkout")]
        {
            if from.join(file).is_file() {
                std::fs::copy(from.join(file), git_dir.join(file))
                    .map_err(WorkspaceError::file("copy", from.join(file)))?;
            }
        }
        self.copy_settings(workspace, &git_dir).await?;
        // What the refs point to is borrowed: nothing must be fetched.
        let listed = self
            .home_git(workspace)
            .run(&["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/remotes", "refs/tags"])
            .await?;
        write(&git_dir.join("packed-refs"), &String::from_utf8_lossy(&listed))?;
        Ok(partial)
    }

    /// Who commits in this repository, as settings for another one.
    pub(crate) async fn identity_settings(&self, workspace: &Workspace) -> Result<String, WorkspaceError> {
        let home = Git::repository(self.host.clone(), &workspace.home.git_dir, &workspace.home.common_dir);
        let own = own_settings(&home).await?;
        let who = own.iter().filter(|(key, _)| key == "user.name" || key == "user.email");
        Ok(who.filter_map(|(key, value)| setting(key, value)).collect())
    }

    /// Gives the clone the repository's own settings that say who commits, how files are written, where remotes are.
    pub(crate) async fn copy_settings(&self, workspace: &Workspace, git_dir: &Path) -> Result<(), WorkspaceError> {
        let mut text = String::new();
        let home = Git::repository(self.host.clone(), &workspace.home.git_dir, &workspace.home.common_dir);
        let mut remotes: Vec<String> = Vec::new();
        for (key, value) in own_settings(&home).await? {
            let wanted =
                ["user.", "filter.", "merge.", "lfs.", "remote.", "diff."].iter().any(|start| key.starts_with(start))
                    || [
                        "core.autocrlf",
                        "core.eol",
                        "core.excludesfile",
                        "core.attributesfile",
                        "core.sparsecheckout",
                        "core.sparsecheckoutcone",
                        "extensions.partialclone",
                    ]
                    .contains(&key.as_str());
            let remote = key.strip_prefix("remote.").and_then(|rest| rest.rsplit_once('.'));
            if let Some((name, variable)) = remote {
                if variable == "pushurl" {
                    continue;
                }
                if variable == "url" && !remotes.iter().any(|known| known == name) {
                    remotes.push(name.to_owned());
                }
            }
            if let (true, Some(line)) = (wanted, setting(&key, &value)) {
                text.push_str(&line);
            }
        }
        for name in remotes {
            text.push_str(&setting(&format!("remote.{name}.pushurl"), NO_PUSH).unwrap_or_default());
        }
        if workspace.home_trusted.hooks_path().is_some_and(Path::is_relative) {
            // Below the top, where the agent writes.
            let hooks = workspace.dir.join(".git/hooks");
            text.push_str(&setting("core.hooksPath", &hooks.to_string_lossy()).unwrap_or_default());
        }
        let file = git_dir.join("config");
        let present = std::fs::read_to_string(&file).map_err(WorkspaceError::file("read", &file))?;
        write(&file, &(present + &text))
    }

    /// Makes the engine's git directory and the clone fit to work with, whatever an agent left of the clone.
    pub(crate) async fn attach_clone(
        &self,
        workspace: &Workspace,
        tag: &str,
        notes: &mut Vec<String>,
    ) -> Result<(), WorkspaceError> {
        self.make_own(workspace).await?;
        self.aim(workspace, notes).await?;
        let Some(agent) = AgentGit::of(workspace) else {
            return self.renew_clone(workspace, tag, notes).await;
        };
        if !borrows(workspace) {
            agent
                .files()
                .write(Path::new(ALTERNATES), lender(workspace).as_bytes(), None)
                .map_err(failed(workspace))?;
            notes.push("restored the clone's link to your repository's objects".to_owned());
        }
        Ok(())
    }

    /// Makes the clone's repository again from the last checkpoint, and keeps what is in its place.
    pub(crate) async fn renew_clone(
        &self,
        workspace: &Workspace,
        tag: &str,
        notes: &mut Vec<String>,
    ) -> Result<(), WorkspaceError> {
        let git_dir = workspace.dir.join(".git");
        let git = Git::repository(self.host.clone(), &workspace.git_dir, &workspace.common_dir);
        if git.read_ref(&workspace.loop_ref(&git).await?).await?.is_none() {
            return Err(WorkspaceError::WorkspaceMissing {
                path: workspace.dir.clone(),
                branch: workspace.branch.clone(),
            });
        }
        let mut note =
            "recreated the clone's .git from the last checkpoint, because it was missing or broken".to_owned();
        if std::fs::symlink_metadata(&git_dir).is_ok() {
            let mut aside = workspace.index.as_os_str().to_owned();
            aside.push(format!(".replaced-{tag}"));
            let aside = super::attach::free_name(Path::new(&aside));
            std::fs::rename(&git_dir, &aside).map_err(WorkspaceError::file("move aside", &git_dir))?;
            note.push_str(&format!("; the old files are at {}", aside.display()));
        }
        let partial = self.furnish(workspace).await?;
        std::fs::rename(partial.join(".git"), &git_dir).map_err(WorkspaceError::file("create", &git_dir))?;
        std::fs::remove_dir(&partial).map_err(WorkspaceError::file("remove", &partial))?;
        notes.push(note);
        Ok(())
    }

    /// Has the engine commit to the loop's branch, or, while the user has that checked out, to a ref beside it, so that
    /// no checkout moves under the user's feet.
    async fn aim(&self, workspace: &Workspace, notes: &mut Vec<String>) -> Result<(), WorkspaceError> {
        let git = Git::repository(self.host.clone(), &workspace.git_dir, &workspace.common_dir);
        let (branch, beside) = (workspace.branch_ref(), workspace.keep_ref("head", "branch"));
        let now = workspace.loop_ref(&git).await?;
        let taken = match checked_out_by_files(&workspace.home.common_dir, &branch) {
            Some(taken) => taken,
            None => checked_out_at(&self.home_git(workspace), &workspace.branch).await?.is_some(),
        };
        let wanted = if taken { &beside } else { &branch };
        if now == *wanted {
            return Ok(());
        }
        let tip = git.read_ref(&now).await?;
        if let Some(tip) = &tip {
            if let Some(there) = git.read_ref(wanted).await?
                && !taken
                && !git.is_ancestor(&there, tip).await?
            {
                notes.push(format!(
                    "did not move the branch {}, because it has commits from elsewhere; the work is at {beside}",
                    workspace.branch
                ));
                return Ok(());
            }
            git.run(&["update-ref", wanted, tip]).await?;
        }
        git.run(&["symbolic-ref", "HEAD", wanted]).await?;
        if taken {
            notes.push(format!(
                "did not move the branch {}, because it is checked out in your repository; the work is at {beside}",
                workspace.branch
            ));
        }
        Ok(())
    }
}

/// Whether a checkout of this repository has the branch, if the files tell.
fn checked_out_by_files(common_dir: &Path, name: &str) -> Option<bool> {
    let on_it = |git_dir: &Path| match head_of(git_dir).0 {
        HeadFile::Ref(head) => Some(head == name),
        HeadFile::Commit(_) => Some(false),
        HeadFile::Unknown => None,
    };
    let linked = std::fs::read_dir(common_dir.join("worktrees")).into_iter().flatten().flatten();
    let mut answer = on_it(common_dir)?;
    for entry in linked {
        answer |= on_it(&entry.path())?;
    }
    Some(answer)
}

fn lender(workspace: &Workspace) -> String {
    format!("{}\n", workspace.home.common_dir.join("objects").display())
}

fn borrows(workspace: &Workspace) -> bool {
    let Some(agent) = AgentGit::of(workspace) else { return false };
    let text = agent.files().read(Path::new(ALTERNATES), 1 << 16).ok().flatten();
    text.is_some_and(|text| text == lender(workspace).as_bytes())
}

/// One setting as text for a configuration file.
fn setting(key: &str, value: &str) -> Option<String> {
    let (section, rest) = key.split_once('.')?;
    let (sub, name) = match rest.rsplit_once('.') {
        Some((sub, name)) => (Some(sub), name),
        None => (None, rest),
    };
    let quote = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let head = sub.map_or_else(|| format!("[{section}]"), |sub| format!("[{section} \"{}\"]", quote(sub)));
    let value = quote(value).replace('\n', "\\n").replace('\t', "\\t");
    Some(format!("{head}\n\t{name} = \"{value}\"\n"))
}

#[cfg(test)]
mod tests {
    use super::setting;

    #[test]
    fn settings_are_quoted_for_a_configuration_file() {
        assert_eq!(
            setting("filter.a.b.clean", "x \"y\" \\z").as_deref(),
            Some("[filter \"a.b\"]\n\tclean = \"x \\\"y\\\" \\\\z\"\n")
        );
        assert_eq!(setting("user.name", "A").as_deref(), Some("[user]\n\tname = \"A\"\n"));
    }
}
