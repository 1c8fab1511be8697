//! Directories of installed packages in the user's checkout, which git ignores and the work needs.

use std::path::Path;

use super::project::Project;
use super::{WorkspaceError, Workspaces};

/// Names by which package managers call them.
const NAMES: [&str; 4] = ["node_modules", ".venv", "venv", "vendor"];

impl Workspaces {
    /// The ignored directories of installed packages in a checkout, from its top.
    pub async fn dependencies(&self, project: &Path) -> Result<Vec<String>, WorkspaceError> {
        let project = Project::inspect(&self.host, project).await?;
        let args = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"];
        let output = project.git(&self.host).run(&args).await?;
        let dirs = output.split(|&byte| byte == 0).filter_map(|path| path.strip_suffix(b"/"));
        let named = |dir: &&str| dir.rsplit('/').next().is_some_and(|name| NAMES.contains(&name));
        let mut found: Vec<String> =
            dirs.filter_map(|dir| std::str::from_utf8(dir).ok()).filter(named).map(str::to_owned).collect();
        // A link to such a directory elsewhere would lead out of the copy.
        found.retain(|dir| std::fs::symlink_metadata(project.checkout.join(dir)).is_ok_and(|data| data.is_dir()));
        Ok(found)
    }
}
