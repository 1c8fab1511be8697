//! An issue of a code host, as a goal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Tool, is_installed, missing, process, remote, tool, tool_for};
use crate::local::Local;
use crate::problem::{Kind, Problem};
use crate::request::Request;

/// An issue, read with gh, glab or tea.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IssueOf {
    /// The project's directory.
    pub project: String,
    /// Its number, or its address.
    pub issue: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IssueView {
    pub title: String,
    pub body: String,
    pub url: Option<String>,
    pub tool: Tool,
}

impl IssueView {
    /// What a loop is for that solves the issue.
    pub fn goal(&self) -> String {
        let url = self.url.as_ref().map_or(String::new(), |url| format!("\n\nIssue: {url}"));
        format!("{}\n\n{}", self.title.trim(), self.body.trim()).trim().to_owned() + &url
    }
}

impl Request for IssueOf {
    type Report = IssueView;
    const NAME: &'static str = "issue";

    async fn perform(self, here: &Local) -> Result<IssueView, Problem> {
        let (context, root) = here.at(&self.project).await?;
        let issue = self.issue.trim();
        let number = issue.trim_start_matches('#');
        let is_number = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
        if !is_number && !issue.starts_with("https://") && !issue.starts_with("http://") {
            return Err(Problem::new(Kind::Invalid, format!("'{}' is not an issue", issue.escape_debug()))
                .field("issue")
                .hint("give its number, or its address that starts with https://"));
        }
        let remote = remote(&root).await?.map(|(_, address)| address);
        let address = if is_number { remote.as_deref() } else { Some(issue) };
        let tool = tool_for(&context, address, None).filter(|tool| is_installed(&context, *tool));
        let tool = tool.ok_or_else(|| missing(address.and_then(tool::host).and_then(Tool::of_host)))?;
        let text = process::output(&tool.issue(if is_number { number } else { issue }), &root).await?;
        let view = read(tool, &text);
        if view.title.is_empty() {
            return Err(Problem::new(Kind::Refused, format!("{} printed no issue", tool.program()))
                .hint(format!("see what `{}` prints", tool.issue(issue).join(" "))));
        }
        Ok(view)
    }
}

/// What a tool printed: JSON, or of tea Markdown with the title first.
fn read(tool: Tool, text: &str) -> IssueView {
    let json: Value = serde_json::from_str(text).unwrap_or_default();
    let field = |names: &[&str]| names.iter().find_map(|name| json[*name].as_str()).unwrap_or_default().to_owned();
    match tool {
        Tool::Gh | Tool::Glab => {
            let url = Some(field(&["url", "web_url"])).filter(|url| !url.is_empty());
            IssueView { title: field(&["title"]), body: field(&["body", "description"]), url, tool }
        }
        Tool::Tea => {
            let mut lines = text.trim().lines();
            let title = lines.next().unwrap_or_default().trim_start_matches('#').trim().to_owned();
            let body = lines.collect::<Vec<_>>().join("\n").trim().to_owned();
            IssueView { title, body, url: None, tool }
        }
    }
}
