//! The shared clone: a repository of its own inside the workspace, borrowing the user's objects.
//!
//! With a sandbox on, the user's repository is read-only to the agent, so the loop's commits live in the clone and
//! the engine fetches them home. Invariant: the user's repository is changed by the engine alone, by refs of this
//! loop alone, and its checkout is never touched.

use std::path::{Path, PathBuf};

use super::attach::write;
use super::nested::fetch_args;
use super::stage::publish;
use super::{Kind, Workspace, WorkspaceError, Workspaces};
use crate::git::{Git, GitError, HeadFile, TrustedConfig, head_of, own_settings};

/// Where a borrowing repository names the lender.
const ALTERNATES: &str = "objects/info/alternates";

impl Workspaces {
    pub(super) async fn check_out_clone(&self, workspace: &mut Workspace) -> Result<(), WorkspaceError> {
        let git_dir = workspace.git_dir.clone();
        if workspace.dir.exists() && !borrows(&git_dir, workspace) {
            let empty = std::fs::read_dir(&workspace.dir).is_ok_and(|mut entries| entries.next().is_none());
            if !empty {
                return Err(WorkspaceError::DirectoryInTheWay { path: workspace.dir.clone() });
            }
            std::fs::remove_dir(&workspace.dir).map_err(WorkspaceError::file("remove", &workspace.dir))?;
        }
        if !workspace.dir.exists() {
            let partial = self.furnish(workspace).await?;
            std::fs::rename(&partial, &workspace.dir).map_err(WorkspaceError::file("create", &workspace.dir))?;
        }
        let git = Git::repository(self.host.clone(), &git_dir, &git_dir);
        workspace.trusted = TrustedConfig::freeze(&git).await?;
        let git = git.work_tree(&workspace.dir).index(&workspace.index);
        if !workspace.index.exists() {
            // The index is written after the files, so its presence means that they are all there.
            git.clone().with_network().run(&["read-tree", "--reset", "-u", &workspace.branch_ref()]).await?;
        }
        if !git_dir.join("index").exists() {
            publish(&git, workspace).await?;
        }
        Ok(())
    }

    /// Makes the repository in a directory beside the workspace, whole before it gets its name.
    async fn furnish(&self, workspace: &Workspace) -> Result<PathBuf, WorkspaceError> {
        let mut partial = workspace.dir.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        if partial.exists() {
            std::fs::remove_dir_all(&partial).map_err(WorkspaceError::file("remove", &partial))?;
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
        let git = Git::repository(self.host.clone(), &git_dir, &git_dir);
        std::fs::create_dir_all(git_dir.join("info")).map_err(WorkspaceError::file("create", &git_dir))?;
        std::fs::create_dir_all(git_dir.join("objects/info")).map_err(WorkspaceError::file("create", &git_dir))?;
        write(&git_dir.join(ALTERNATES), &lender(workspace))?;
        for file in ["info/exclude", "info/attributes", "shallow"] {
            if home.join(file).is_file() {
                std::fs::copy(home.join(file), git_dir.join(file))
                    .map_err(WorkspaceError::file("copy", home.join(file)))?;
            }
        }
        self.copy_settings(workspace, &git_dir).await?;
        let from = home.to_string_lossy();
        let mut args = fetch_args(
            &from,
            &["+refs/heads/*:refs/heads/*", "+refs/remotes/*:refs/remotes/*", "+refs/tags/*:refs/tags/*"],
        );
        args.splice(1..1, ["--update-head-ok", "--update-shallow"]);
        git.run(&args).await?;
        Ok(partial)
    }

    /// Gives the clone the repository's own settings that say who commits, how files are written, where remotes are.
    pub(super) async fn copy_settings(&self, workspace: &Workspace, git_dir: &Path) -> Result<(), WorkspaceError> {
        let mut text = String::new();
        for (key, value) in own_settings(&self.home_git(workspace)).await? {
            let wanted = ["user.", "filter.", "merge.", "lfs.", "remote.", "diff."]
                .iter()
                .any(|start| key.starts_with(start))
                || ["core.autocrlf", "core.eol", "core.excludesfile", "core.attributesfile"].contains(&key.as_str());
            // A remote that may fetch missing objects by itself is not for an agent's repository.
            let excluded = key.ends_with(".promisor") || key.ends_with(".partialclonefilter");
            if let (true, false, Some(line)) = (wanted, excluded, setting(&key, &value)) {
                text.push_str(&line);
            }
        }
        let file = git_dir.join("config");
        let present = std::fs::read_to_string(&file).map_err(WorkspaceError::file("read", &file))?;
        write(&file, &(present + &text))
    }

    /// Ties the clone to its lender again, or makes its repository again from what was fetched home.
    pub(super) async fn attach_clone(
        &self,
        workspace: &Workspace,
        tag: &str,
        notes: &mut Vec<String>,
    ) -> Result<(), WorkspaceError> {
        let git_dir = &workspace.git_dir;
        let real = std::fs::symlink_metadata(git_dir).is_ok_and(|data| data.is_dir());
        if real
            && git_dir.join("HEAD").is_file()
            && git_dir.join("objects").is_dir()
            && git_dir.join("refs").is_dir()
            && git_dir.join("config").is_file()
            && workspace.planted_link().is_none()
        {
            let elsewhere = git_dir.join("commondir");
            if std::fs::symlink_metadata(&elsewhere).is_ok() {
                let aside = super::attach::free_name(&git_dir.join(format!("windlass-commondir-{tag}")));
                std::fs::rename(&elsewhere, &aside).map_err(WorkspaceError::file("move aside", &elsewhere))?;
                notes.push("the clone's .git pointed to another repository and has been put back".to_owned());
            }
            if !borrows(git_dir, workspace) {
                std::fs::create_dir_all(git_dir.join("objects/info"))
                    .map_err(WorkspaceError::file("create", git_dir))?;
                write(&git_dir.join(ALTERNATES), &lender(workspace))?;
                notes.push("the clone's link to the user's objects was gone and has been put back".to_owned());
            }
            return Ok(());
        }
        self.renew_clone(workspace, tag, "was gone or led elsewhere", notes).await
    }

    /// Makes the clone's repository again if what is in it may have caused this error, so that one can try once more.
    pub(super) async fn renew_if_broken(
        &self,
        workspace: &Workspace,
        tag: &str,
        error: WorkspaceError,
        notes: &mut Vec<String>,
    ) -> Result<(), WorkspaceError> {
        if workspace.kind != Kind::Clone || !error.may_lie_in(&workspace.git_dir) {
            return Err(error);
        }
        self.renew_clone(workspace, tag, "was broken", notes).await?;
        // It may name content that was in the broken one alone.
        std::fs::remove_file(&workspace.index).map_err(WorkspaceError::file("replace", &workspace.index))
    }

    /// Makes the clone's repository again from what was fetched home, and keeps what is in its place.
    async fn renew_clone(
        &self,
        workspace: &Workspace,
        tag: &str,
        why: &str,
        notes: &mut Vec<String>,
    ) -> Result<(), WorkspaceError> {
        let git_dir = &workspace.git_dir;
        let home = self.home_git(workspace);
        if home.read_ref(&workspace.branch_ref()).await?.is_none() {
            return Err(WorkspaceError::WorkspaceMissing {
                path: workspace.dir.clone(),
                branch: workspace.branch.clone(),
            });
        }
        let mut note = format!("the clone's .git {why} and has been made again from the last checkpoint");
        if std::fs::symlink_metadata(git_dir).is_ok() {
            let mut aside = workspace.index.as_os_str().to_owned();
            aside.push(format!(".replaced-{tag}"));
            let aside = super::attach::free_name(Path::new(&aside));
            std::fs::rename(git_dir, &aside).map_err(WorkspaceError::file("move aside", git_dir))?;
            note.push_str(&format!("; what was there is at {}", aside.display()));
        }
        let partial = self.furnish(workspace).await?;
        std::fs::rename(partial.join(".git"), git_dir).map_err(WorkspaceError::file("create", git_dir))?;
        std::fs::remove_dir(&partial).map_err(WorkspaceError::file("remove", &partial))?;
        notes.push(note);
        Ok(())
    }

    /// Git that writes a checkpoint's objects straight into the user's repository, if everything it builds on is there:
    /// then no fetch is needed, only the branch moves. Not if the agent committed, whose objects are in the clone
    /// alone; the clone's own store is left out, so that nothing is taken for present that is not there at home.
    pub(super) async fn git_at_home(
        &self,
        workspace: &Workspace,
        git: &Git,
        tip: &str,
    ) -> Result<Option<Git>, GitError> {
        if workspace.kind != Kind::Clone {
            return Ok(None);
        }
        let home = self.home_git(workspace);
        let name = workspace.branch_ref();
        let known = home.read_ref(&name).await?.as_deref() == Some(tip);
        let fits = known && !checked_out_somewhere(&workspace.home.common_dir, &name);
        Ok(fits.then(|| git.clone().objects(workspace.home.common_dir.join("objects"))))
    }

    /// Moves the branch at home to a commit whose objects are all there.
    pub(super) async fn advance_home(&self, workspace: &Workspace, old: &str, new: &str) -> Result<(), GitError> {
        let home = self.home_git(workspace);
        home.run(&["update-ref", "-m", "windlass: checkpoint", &workspace.branch_ref(), new, old]).await.map(drop)
    }

    /// Fetches the loop's branch and saved refs into the user's repository. Nothing to do for the other kinds.
    pub(super) async fn bring_home(
        &self,
        workspace: &Workspace,
        git: &Git,
        notes: &mut Vec<String>,
    ) -> Result<(), WorkspaceError> {
        if workspace.kind != Kind::Clone {
            return Ok(());
        }
        let name = workspace.branch_ref();
        let Some(tip) = git.read_ref(&name).await? else {
            return Ok(());
        };
        let home = self.home_git(workspace);
        let from = workspace.git_dir.to_string_lossy();
        let kept = keep_prefix(workspace);
        let (all_kept, not_base) = (format!("{kept}*:{kept}*"), format!("^{kept}base/*"));
        let branch = format!("+{name}:{name}");
        let fetched = home.call(&fetch_args(&from, &[&branch, &all_kept, &not_base])).answers(&[1]).run().await;
        let landed = match fetched {
            Ok(_) => name,
            Err(GitError::Failed { stderr, .. }) if stderr.contains("refusing to fetch into branch") => {
                let other = workspace.keep_ref("head", "branch");
                let branch = format!("+{name}:{other}");
                home.call(&fetch_args(&from, &[&branch, &all_kept, &not_base])).answers(&[1]).run().await?;
                notes.push(format!(
                    "the branch {} is checked out in the user's repository and was not moved; the work is at {other}",
                    workspace.branch
                ));
                other
            }
            Err(error) => return Err(error.into()),
        };
        match home.read_ref(&landed).await? {
            Some(there) if there == tip => Ok(()),
            there => Err(GitError::unexpected("fetch", format!("{landed} is {there:?}, not {tip}").as_bytes()).into()),
        }
    }
}

/// Whether a checkout of this repository has the branch. Where the files do not tell, it is taken for so.
fn checked_out_somewhere(common_dir: &Path, name: &str) -> bool {
    let on_it = |git_dir: &Path| match head_of(git_dir).0 {
        HeadFile::Ref(head) => head == name,
        HeadFile::Commit(_) => false,
        HeadFile::Unknown => true,
    };
    let linked = std::fs::read_dir(common_dir.join("worktrees")).into_iter().flatten().flatten();
    on_it(common_dir) || linked.into_iter().any(|entry| on_it(&entry.path()))
}

fn keep_prefix(workspace: &Workspace) -> String {
    let whole = workspace.keep_ref("base", "commit");
    whole.strip_suffix("base/commit").unwrap_or(&whole).to_owned()
}

fn lender(workspace: &Workspace) -> String {
    format!("{}\n", workspace.home.common_dir.join("objects").display())
}

fn borrows(git_dir: &Path, workspace: &Workspace) -> bool {
    std::fs::read_to_string(git_dir.join(ALTERNATES)).is_ok_and(|text| text == lender(workspace))
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
