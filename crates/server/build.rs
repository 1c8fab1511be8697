//! Puts the dashboard into the binary.
//!
//! With Node and npm it is built from `web/`; a `web/dist` that is there already, as in release sources, is taken as it
//! is. Without either the server shows a plain page. Nothing here fails a build, and `WINDLASS_WEB=off` skips it.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    let web = here.join("../../web");
    println!("cargo:rerun-if-env-changed=WINDLASS_WEB");
    println!("cargo:rerun-if-changed=build.rs");
    let off = std::env::var_os("WINDLASS_WEB").is_some_and(|value| value == "off");
    let dist = if off { None } else { dashboard(&web, &out) };
    let mut files = Vec::new();
    if let Some(dist) = &dist {
        gather(dist, dist, &mut files);
    }
    files.sort();
    let mut text = String::from("pub(crate) static FILES: &[(&str, &[u8])] = &[\n");
    for (name, path) in &files {
        let _ = writeln!(text, "    ({name:?}, include_bytes!({:?})),", path.display().to_string());
    }
    text.push_str("];\n");
    if let Err(error) = fs::write(out.join("dashboard_files.rs"), text) {
        println!("cargo:warning=the list of the dashboard's files cannot be written: {error}");
    }
}

/// The directory with the built dashboard.
fn dashboard(web: &Path, out: &Path) -> Option<PathBuf> {
    if !web.join("package.json").is_file() {
        return None;
    }
    let sources = ["src", "public", "index.html", "package.json", "package-lock.json", "vite.config.ts", "dist"];
    for source in sources {
        // A path that is not there would make every build run this again.
        if web.join(source).exists() {
            println!("cargo:rerun-if-changed={}", web.join(source).display());
        }
    }
    let shipped = web.join("dist/index.html").is_file().then(|| web.join("dist"));
    match node_is_there() {
        true => match build(web, &out.join("dashboard")) {
            Ok(dist) => Some(dist),
            Err(why) => {
                println!("cargo:warning=the dashboard is not built: {why}");
                shipped
            }
        },
        false => {
            if shipped.is_none() {
                println!("cargo:warning=the dashboard is not built: Node 20 or newer, with npm, is not there");
            }
            shipped
        }
    }
}

fn node_is_there() -> bool {
    let says = |program: &str| {
        let output = Command::new(program).arg("--version").output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let major = says("node").and_then(|version| version.trim_start_matches('v').split('.').next()?.parse::<u32>().ok());
    major.is_some_and(|major| major >= 20) && says("npm").is_some()
}

fn build(web: &Path, dist: &Path) -> Result<PathBuf, String> {
    let marker = web.join("node_modules/.package-lock.json");
    // Builds into other target directories may run at the same time, and node_modules is one for all.
    let lock = File::create(web.join(".install.lock")).map_err(|error| format!("no lock in web/: {error}"))?;
    lock.lock().map_err(|error| format!("no lock in web/: {error}"))?;
    if changed(&marker) < changed(&web.join("package-lock.json")) {
        run(web, &["ci", "--no-audit", "--no-fund"])?;
    }
    drop(lock);
    let out = dist.display().to_string();
    run(web, &["run", "build", "--", "--outDir", &out, "--emptyOutDir"])?;
    if dist.join("index.html").is_file() { Ok(dist.to_owned()) } else { Err("it has no index.html".to_owned()) }
}

fn changed(path: &Path) -> Option<std::time::SystemTime> {
    fs::metadata(path).and_then(|meta| meta.modified()).ok()
}

fn run(web: &Path, words: &[&str]) -> Result<(), String> {
    let output = Command::new("npm").args(words).current_dir(web).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    Err(format!("`npm {}` failed: {last}", words.join(" ")))
}

fn gather(root: &Path, dir: &Path, files: &mut Vec<(String, PathBuf)>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            gather(root, &path, files);
        } else if let Ok(name) = path.strip_prefix(root)
            && !name.to_string_lossy().ends_with(".map")
        {
            files.push((name.to_string_lossy().replace('\\', "/"), path.canonicalize().unwrap_or(path)));
        }
    }
}
