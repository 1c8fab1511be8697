//! From what a script wants done to the tool by which this CLI does it, told by the tools its request lists.
//!
//! Invariant: a call names a tool of the request and fills every input that the tool's schema requires.

use serde_json::{Map, Value, json};

use super::asked::{Asked, Tool};
use super::reply::{Call, Input, fresh_id};
use super::script::{RawCall, Write};

/// Shell tools: claude; opencode, copilot and pi; gemini and qwen; cline; codex over its versions.
const SHELL: [&str; 8] =
    ["Bash", "bash", "run_shell_command", "run_commands", "exec_command", "shell_command", "shell", "local_shell"];

/// Tools that write a whole file: claude, opencode, gemini and qwen, copilot, codex.
const WRITE: [&str; 5] = ["Write", "write", "write_file", "create", "apply_patch"];

/// A call of the shell tool, if the request has one.
pub(super) fn shell(asked: &Asked, command: &str) -> Option<Call> {
    let tool = by_names(asked, &SHELL)?;
    if property(tool, "commands").is_some() {
        return Some(call(tool, &[("commands", json!([command]))]));
    }
    let key = if property(tool, "command").is_some() { "command" } else { "cmd" };
    let value = match property(tool, key).and_then(|p| p["type"].as_str()) {
        Some("array") => json!(["bash", "-lc", command]),
        _ => json!(command),
    };
    Some(call(tool, &[(key, value), ("description", json!("scripted command"))]))
}

/// A call of the tool that writes files, or of the shell if there is none.
pub(super) fn write(asked: &Asked, file: &Write) -> Option<Call> {
    let path = match &asked.cwd {
        Some(cwd) if !file.path.starts_with('/') => format!("{cwd}/{}", file.path),
        _ => file.path.clone(),
    };
    let Some(tool) = by_names(asked, &WRITE) else {
        let delimiter = "WINDLASS_SCRIPT_END";
        return shell(asked, &format!("cat > '{path}' <<'{delimiter}'\n{}\n{delimiter}", file.content));
    };
    if tool.name == "apply_patch" {
        let added: String = file.content.lines().map(|l| format!("+{l}\n")).collect();
        let patch = format!("*** Begin Patch\n*** Add File: {path}\n{added}*** End Patch\n");
        if tool.schema.is_null() {
            return Some(plain_call(tool, patch));
        }
        return Some(call(tool, &[("input", json!(patch))]));
    }
    let path_key = ["file_path", "filePath", "path", "absolute_path"].into_iter().find(|k| property(tool, k).is_some());
    let content_key = ["content", "file_text"].into_iter().find(|k| property(tool, k).is_some());
    let inputs = [(path_key.unwrap_or("path"), json!(path)), (content_key.unwrap_or("content"), json!(file.content))];
    Some(call(tool, &inputs))
}

/// What Aider makes a file of: its name, then all of it between fences.
pub(super) fn listing(file: &Write) -> String {
    format!("\n\n{}\n```\n{}\n```\n\n", file.path, file.content.trim_end_matches('\n'))
}

/// The file that a command writes, for Aider, which runs none: `echo WORDS > FILE`, `echo 'WORDS' | tee FILE`.
pub(super) fn written_by(command: &str) -> Option<Write> {
    let words = command.strip_prefix("echo ")?;
    let (content, rest) = words.split_once(" > ").or_else(|| words.split_once(" | tee "))?;
    let path = rest.split_whitespace().next()?.to_owned();
    let plain = |c: char| c.is_ascii_alphanumeric() || "._/-".contains(c);
    let content = content.trim_matches('\'').to_owned();
    path.chars().all(plain).then_some(Write { path, content })
}

/// A call of a tool by its name or the end of it.
pub(super) fn raw(asked: &Asked, wanted: &RawCall) -> Option<Call> {
    let exact = asked.tools.iter().find(|t| t.name == wanted.name);
    let tool = exact.or_else(|| asked.tools.iter().find(|t| t.name.ends_with(&wanted.name)))?;
    if let (true, Some(text)) = (tool.schema.is_null(), wanted.input.as_str()) {
        return Some(plain_call(tool, text.to_owned()));
    }
    Some(Call { input: Input::Json(wanted.input.clone()), ..plain_call(tool, String::new()) })
}

fn by_names<'a>(asked: &'a Asked, names: &[&str]) -> Option<&'a Tool> {
    names.iter().find_map(|name| asked.tools.iter().find(|t| t.name == *name))
}

fn property<'a>(tool: &'a Tool, name: &str) -> Option<&'a Value> {
    tool.schema["properties"].get(name)
}

fn plain_call(tool: &Tool, text: String) -> Call {
    let (name, namespace) = (tool.name.clone(), tool.namespace.clone());
    Call { id: fresh_id("call_"), name, namespace, input: Input::Text(text) }
}

/// The inputs that the tool knows, and something harmless for whatever else it requires.
fn call(tool: &Tool, inputs: &[(&str, Value)]) -> Call {
    let mut input = Map::new();
    for (name, value) in inputs {
        if property(tool, name).is_some() || tool.schema["properties"].is_null() {
            input.insert((*name).to_owned(), value.clone());
        }
    }
    let required = tool.schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    for name in required.iter().filter_map(Value::as_str) {
        if !input.contains_key(name) {
            let filler = filler(property(tool, name).unwrap_or(&Value::Null));
            input.insert(name.to_owned(), filler);
        }
    }
    Call { input: Input::Json(Value::Object(input)), ..plain_call(tool, String::new()) }
}

fn filler(schema: &Value) -> Value {
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    match schema["type"].as_str().unwrap_or("string").to_lowercase().as_str() {
        "boolean" => json!(false),
        "number" | "integer" => json!(1),
        "array" => json!([]),
        "object" => json!({}),
        _ => json!("scripted"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_writes_a_file_is_that_file() {
        let write = |path: &str, content: &str| Some(Write { path: path.to_owned(), content: content.to_owned() });
        assert_eq!(written_by("echo scripted > out.txt && cat out.txt"), write("out.txt", "scripted"));
        assert_eq!(written_by("echo '429; too long' | tee a/out.txt"), write("a/out.txt", "429; too long"));
        assert_eq!(written_by("echo no >&2; exit 3"), None);
        assert_eq!(written_by("sleep 600"), None);
    }
}
