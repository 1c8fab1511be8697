//! The command-line tools of code hosts, and what to type into them. Pure: `process` runs it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// GitHub's, GitLab's, and that of Gitea and Forgejo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tool {
    Gh,
    Glab,
    Tea,
}

impl Tool {
    pub const ALL: [Tool; 3] = [Tool::Gh, Tool::Glab, Tool::Tea];

    pub fn program(self) -> &'static str {
        match self {
            Tool::Gh => "gh",
            Tool::Glab => "glab",
            Tool::Tea => "tea",
        }
    }

    /// The page that says how to install it.
    pub fn install(self) -> &'static str {
        match self {
            Tool::Gh => "https://cli.github.com",
            Tool::Glab => "https://gitlab.com/gitlab-org/cli",
            Tool::Tea => "https://gitea.com/gitea/tea",
        }
    }

    /// The tool for a host, by its name.
    pub fn of_host(host: &str) -> Option<Self> {
        let host = host.to_lowercase();
        let named = |words: &[&str]| words.iter().any(|word| host.contains(word));
        if named(&["github"]) {
            Some(Tool::Gh)
        } else if named(&["gitlab"]) {
            Some(Tool::Glab)
        } else if named(&["gitea", "forgejo", "codeberg"]) {
            Some(Tool::Tea)
        } else {
            None
        }
    }

    /// The command that opens a pull or merge request, program first.
    pub fn open(self, pull: &Pull<'_>) -> Vec<String> {
        let Pull { branch, base, title, body, draft } = *pull;
        let (head_flag, base_flag, body_flag) = match self {
            Tool::Gh => ("--head", "--base", "--body"),
            Tool::Glab => ("--source-branch", "--target-branch", "--description"),
            Tool::Tea => ("--head", "--base", "--description"),
        };
        let mut words = vec![self.program()];
        words.extend(match self {
            Tool::Gh => ["pr", "create"],
            Tool::Glab => ["mr", "create"],
            Tool::Tea => ["pr", "create"],
        });
        words.extend([head_flag, branch]);
        if let Some(base) = base {
            words.extend([base_flag, base]);
        }
        let draft_title = format!("WIP: {title}");
        words.extend(["--title", if draft && self == Tool::Tea { &draft_title } else { title }, body_flag, body]);
        if draft && self != Tool::Tea {
            words.push("--draft");
        }
        if self == Tool::Glab {
            words.push("--yes");
        }
        words.into_iter().map(str::to_owned).collect()
    }

    /// The command that prints an issue, program first.
    pub fn issue(self, issue: &str) -> Vec<String> {
        let number = issue.rsplit('/').next().unwrap_or(issue).trim_start_matches('#');
        let words: &[&str] = match self {
            Tool::Gh => &["gh", "issue", "view", issue, "--json", "title,body,url"],
            Tool::Glab => &["glab", "issue", "view", issue, "--output", "json"],
            Tool::Tea => &["tea", "issues", number],
        };
        words.iter().map(|word| (*word).to_owned()).collect()
    }
}

/// A pull or merge request to be opened.
#[derive(Debug, Clone, Copy)]
pub struct Pull<'a> {
    pub branch: &'a str,
    /// The branch it goes to; the host's default one if not said.
    pub base: Option<&'a str>,
    pub title: &'a str,
    pub body: &'a str,
    pub draft: bool,
}

/// The host in the address of a remote or of a page.
pub fn host(address: &str) -> Option<&str> {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let rest = rest.split_once('@').map_or(rest, |(_, rest)| rest);
    let end = rest.find(['/', ':'])?;
    Some(&rest[..end]).filter(|host| !host.is_empty() && *host != "." && *host != "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_found_in_every_form_of_address() {
        for address in ["git@github.com:me/x.git", "https://github.com/me/x", "ssh://git@github.com:22/me/x.git"] {
            assert_eq!(host(address).and_then(Tool::of_host), Some(Tool::Gh), "{address}");
        }
        assert_eq!(host("https://gitlab.example.org/a/b").and_then(Tool::of_host), Some(Tool::Glab));
        assert_eq!(host("git@codeberg.org:a/b.git").and_then(Tool::of_host), Some(Tool::Tea));
        assert_eq!(host("/srv/git/x.git"), None);
        assert_eq!(host("../x.git"), None);
    }

    #[test]
    fn each_tool_gets_its_own_words() {
        let pull = Pull { branch: "windlass/a", base: Some("main"), title: "T", body: "B", draft: true };
        let words = |tool: Tool| tool.open(&pull).join(" ");
        assert_eq!(words(Tool::Gh), "gh pr create --head windlass/a --base main --title T --body B --draft");
        assert_eq!(
            words(Tool::Glab),
            "glab mr create --source-branch windlass/a --target-branch main --title T --description B --draft --yes"
        );
        assert_eq!(words(Tool::Tea), "tea pr create --head windlass/a --base main --title WIP: T --description B");
        assert_eq!(Tool::Tea.issue("https://codeberg.org/a/b/issues/12").join(" "), "tea issues 12");
    }
}
