//! In the default sandbox an agent finds no trace of a hidden gate, wherever it looks.

use crate::support::*;

/// Searches its prompt, environment, process list and files; has no more than half of the words that it looks for.
///
/// Its probe runs in every gate, hidden ones included, and leaves what it learns where the next one may find it. The second
/// turn breaks the visible gate, so that the third is shown what the probe printed.
const AGENT: &str = r#"
half=hidden-
cat > /tmp/prompt
# Before any process has the words in its own command line.
cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' > /tmp/processes
looked() {
    echo "control: $(grep -c 'do it' /tmp/prompt) $(env | grep -c PATH) $(grep -c agent /tmp/processes)"
    grep -F -e "${half}marker" -e "${half}output" /tmp/prompt
    env | grep -F -e "${half}marker" -e "${half}output"
    grep -F -e "${half}marker" -e "${half}output" /tmp/processes
    grep -rslF --exclude-dir=proc --exclude-dir=sys --exclude-dir=dev --exclude-dir=usr --exclude-dir=opt \
        --exclude=found -e "${half}marker" -e "${half}output" /
}
looked >> found
echo 'for dir in "$HOME" "$HOME/.cache" /tmp /var/tmp . target ..; do
    cat "$dir/stolen" 2>/dev/null; mkdir -p target; cat /proc/[0-9]*/cmdline 2>/dev/null > "$dir/stolen"; done 2>/dev/null' > probe.sh
echo x >> w
case $(wc -l < w) in 2) touch red ;; *) rm -f red ;; esac
"#;

#[test]
// promise: gates-12
fn agent_finds_no_trace_of_a_hidden_gate() {
    let Some(world) = crate::sandboxed() else { return };
    world.repo().write(".gitignore", "target\nstolen\n").write("probe.sh", "true\n").commit("A probe");
    let dir = world.home().join("my hidden-marker tests");
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(dir.join("check.sh"), "echo hidden-output; sh ./probe.sh; test \"$(wc -l < w)\" -ge 4\n").unwrap();
    let hidden = format!("sh '{}'", dir.join("check.sh").display());
    let agent = world.install_script("agent", &format!("{AGENT}\necho '{PROMISE}'"));
    let agent = agent.to_string_lossy().into_owned();
    let mut args = vec!["run", "do it", "--name", "work", "--agent-command", &agent];
    args.extend(["--gate", "sh ./probe.sh; test ! -f red", "--hidden-gate", &hidden, "--max-iterations", "6"]);
    let out = call(&world, &args);
    out.assert_code(0).assert_stdout_has("2 claims passed the visible gates and failed a hidden one");
    let found = file_at_branch(&world, "work", "found");
    let (control, leaks): (Vec<&str>, Vec<&str>) = found.lines().partition(|line| line.starts_with("control: "));
    assert_eq!(control.len(), 4, "{found}");
    assert!(control.iter().all(|line| !line.contains(" 0")), "the search finds what is there: {found}");
    assert_eq!(leaks, Vec::<&str>::new());
}
