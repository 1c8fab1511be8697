//! One readable line for each tool call: a verb, what it is about, and its size. Agents name their tools and fields
//! differently; what is not known is shown as it came.

use serde_json::{Map, Value};

use super::size;
use crate::style::one_line;

type Names = &'static [&'static str];

/// Verbs, with the names that agents have for such a tool, in lower case and without underscores and dashes.
const VERBS: &[(&str, Names)] = &[
    ("read", &["read", "readfile", "readmanyfiles", "view", "viewfile", "open", "cat"]),
    ("write", &["write", "writefile", "create", "createfile"]),
    (
        "edit",
        &[
            "edit",
            "editfile",
            "multiedit",
            "replace",
            "strreplace",
            "strreplaceeditor",
            "applypatch",
            "patch",
            "update",
            "notebookedit",
        ],
    ),
    ("delete", &["delete", "deletefile", "remove"]),
    (
        "run",
        &["bash", "shell", "exec", "execute", "runshellcommand", "runcommand", "terminal", "command", "localshell"],
    ),
    ("search", &["grep", "search", "searchfilecontent", "ripgrep", "codesearch", "greptool"]),
    ("find", &["glob", "find", "findfiles", "filesearch"]),
    ("list", &["ls", "list", "listdirectory", "listdir", "listfiles"]),
    ("fetch", &["webfetch", "fetch", "fetchurl", "urlfetch"]),
    ("search the web", &["websearch", "googlewebsearch"]),
    ("plan", &["todowrite", "todo", "updateplan", "writetodos", "plan"]),
    ("delegate", &["task", "agent", "subagent"]),
];

const PATHS: &[&str] = &[
    "file_path",
    "filePath",
    "path",
    "absolute_path",
    "target_file",
    "notebook_path",
    "dir_path",
    "directory",
    "file",
];
const COMMANDS: &[&str] = &["command", "cmd", "script"];
const WHATS: &[&str] = &["pattern", "query", "regex", "url", "description", "prompt", "title"];
const CONTENTS: &[&str] = &["content", "contents", "new_string", "newString", "file_text", "new_str", "patch", "diff"];

/// A call in words. `workspace` is the directory that paths are shown relative to.
pub(super) fn call(name: &str, input: &str, workspace: &str) -> String {
    let verb = verb(name);
    let (about, bytes) = match serde_json::from_str::<Value>(input) {
        Ok(Value::Object(fields)) => (of_fields(verb, &fields), content_bytes(&fields)),
        // Codex lists the files of a patch.
        Ok(Value::Array(files)) => (paths_of(&files), None),
        Ok(_) | Err(_) => (Some(input.to_owned()), None),
    };
    let about = about.unwrap_or_else(|| if input == "{}" { String::new() } else { input.to_owned() });
    let about = one_line(&shorter(unwrapped(&about), workspace), 120);
    let written = bytes.filter(|_| matches!(verb, Some("write" | "edit"))).map(|bytes| format!(" ({})", size(bytes)));
    let what = verb.map_or_else(|| one_line(name, 40), str::to_owned);
    format!("{what} {about}{}", written.unwrap_or_default()).trim_end().to_owned()
}

/// What came of a call: short output as it is, long output by its size.
pub(super) fn result(output: &str, failed: bool, workspace: &str) -> String {
    let output = output.trim();
    let lines = output.lines().count();
    match output.lines().find(|line| !line.trim().is_empty()) {
        None => "no output".to_owned(),
        Some(first) if lines <= 1 || failed => one_line(&shorter(first, workspace), 120),
        Some(_) => format!("{lines} lines, {}", size(output.len() as u64)),
    }
}

fn verb(name: &str) -> Option<&'static str> {
    let plain: String = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    VERBS.iter().find(|(_, names)| names.contains(&plain.as_str())).map(|(verb, _)| *verb)
}

fn first<'a>(fields: &'a Map<String, Value>, names: &[&str]) -> Option<&'a Value> {
    names.iter().find_map(|name| fields.get(*name)).filter(|value| !value.is_null())
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(words) => words.iter().map(text).collect::<Vec<_>>().join(" "),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}

fn of_fields(verb: Option<&str>, fields: &Map<String, Value>) -> Option<String> {
    let path = first(fields, PATHS).map(text);
    let command = first(fields, COMMANDS).map(text);
    let what = first(fields, WHATS).map(text);
    match verb? {
        "run" => command.or(what),
        "search" | "find" => match (what, path) {
            (Some(what), Some(path)) => Some(format!("{what} in {path}")),
            (what, path) => what.or(path),
        },
        "plan" => Some(match fields.values().find_map(Value::as_array).map(Vec::len) {
            Some(1) => "1 step".to_owned(),
            Some(steps) => format!("{steps} steps"),
            None => String::new(),
        }),
        "read" | "write" | "edit" | "delete" | "list" => path.or(what).or(command),
        _ => what.or(path).or(command),
    }
}

fn paths_of(files: &[Value]) -> Option<String> {
    let paths: Vec<&str> = files.iter().filter_map(|file| file["path"].as_str()).collect();
    (!paths.is_empty()).then(|| paths.join(", "))
}

/// How much a call writes. A text that the adapter cut ends with its length.
fn content_bytes(fields: &Map<String, Value>) -> Option<u64> {
    let content = first(fields, CONTENTS)?.as_str()?;
    let told = content.strip_suffix(" bytes)").and_then(|text| text.rsplit_once("… ("));
    Some(told.and_then(|(_, bytes)| bytes.parse().ok()).unwrap_or(content.len() as u64))
}

/// A command without the shell that was asked to run it.
fn unwrapped(command: &str) -> &str {
    let inner = ["/bin/bash -lc ", "bash -lc ", "/bin/sh -c ", "sh -c ", "bash -c "]
        .iter()
        .find_map(|shell| command.strip_prefix(shell));
    inner.map_or(command, |inner| inner.strip_prefix('\'').and_then(|inner| inner.strip_suffix('\'')).unwrap_or(inner))
}

/// Paths of the workspace, seen from there.
fn shorter(text: &str, workspace: &str) -> String {
    match workspace {
        "" => text.to_owned(),
        _ => text.replace(&format!("{workspace}/"), "").replace(workspace, "."),
    }
}

#[cfg(test)]
mod tests {
    use super::{call, result};

    #[test]
    fn a_call_of_every_agent_is_one_short_line() {
        let cases = [
            // Claude Code, Qwen
            ("Bash", r#"{"command":"cd /w/x && cargo test","description":"run"}"#, "run cd . && cargo test"),
            ("Write", r#"{"content":"scripted\n","file_path":"/w/x/out.txt"}"#, "write out.txt (9 B)"),
            ("Edit", r#"{"file_path":"/w/x/src/a.rs","new_string":"b","old_string":"a"}"#, "edit src/a.rs (1 B)"),
            ("Grep", r#"{"pattern":"fn main","path":"/w/x/src"}"#, "search fn main in src"),
            ("TodoWrite", r#"{"todos":[{},{}]}"#, "plan 2 steps"),
            // Codex
            ("shell", "/bin/bash -lc 'echo hi > out.txt'", "run echo hi > out.txt"),
            ("apply_patch", r#"[{"kind":"add","path":"/w/x/out.txt"}]"#, "edit out.txt"),
            // Copilot, OpenCode, Gemini
            ("create", r#"{"path":"/w/x/a","file_text":"abc"}"#, "write a (3 B)"),
            ("read", r#"{"filePath":"/w/x/a/b.rs"}"#, "read a/b.rs"),
            ("run_shell_command", r#"{"command":"ls"}"#, "run ls"),
            ("read_many_files", r#"{"path":["a","b"]}"#, "read a b"),
            // The demo, and what is not known
            ("read", "add.sh", "read add.sh"),
            ("mcp__db__query", r#"{"sql":"select 1"}"#, r#"mcp__db__query {"sql":"select 1"}"#),
            ("Write", r#"{"content":"xx… (70000 bytes)","file_path":"/w/x/big"}"#, "write big (68 KB)"),
        ];
        for (name, input, expected) in cases {
            assert_eq!(call(name, input, "/w/x"), expected);
        }
    }

    #[test]
    fn a_long_result_is_its_size_and_a_failed_one_its_first_line() {
        assert_eq!(result("ok\n", false, ""), "ok");
        assert_eq!(result("a\nb\nc\n", false, ""), "3 lines, 5 B");
        assert_eq!(result("\nno such file /w/x/a\n  at b\n", true, "/w/x"), "no such file a");
        assert_eq!(result(" ", false, ""), "no output");
    }
}
