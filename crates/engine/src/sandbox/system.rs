//! What of the machine's programs a process sees: the system, every directory of `PATH` with the installation it belongs to,
//! toolchains, and certificates.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use windlass_process::CommandSpec;
use windlass_supervise::Access;

use super::places::{AgentsDirs, Places};
use super::table::{PREFIX_PARTS, RUN, SYSTEM, TOOLCHAIN_VARIABLES, TOOLCHAINS};

/// More links in a directory of programs are not followed.
const MOST_LINKS: usize = 4_000;

/// The system's own directories.
pub(super) fn show_system(places: &mut Places) {
    for path in SYSTEM.iter().chain(RUN) {
        places.put(Path::new(path), Access::ReadOnly);
    }
    // `/bin` and the like point to `/usr` on most systems, `/var/run` to `/run`.
    for link in ["/var/run", "/var/lock"].map(Path::new) {
        if let Ok(target) = std::fs::read_link(link) {
            places.put_link(link, target);
        }
    }
}

/// What a command needs to be found and run.
pub(super) fn show_programs(places: &mut Places, command: &CommandSpec, home: Option<&Path>, own: &Path) {
    let env = &command.env;
    for name in TOOLCHAINS {
        home.into_iter().for_each(|home| places.put(&home.join(name), Access::ReadOnly));
    }
    let shower = Shower { home, own, agents: places.agents_dirs() };
    for variable in TOOLCHAIN_VARIABLES {
        for path in paths_in(env, variable).filter(|path| shower.may_show(path)) {
            places.show(&path);
        }
    }
    for (name, _) in env.iter().filter(|(name, _)| names_certificates(name)) {
        for path in paths_in(env, name).filter(|path| shower.may_show(path)) {
            places.show(&path);
        }
    }
    let search: Vec<PathBuf> = paths_in(env, "PATH").collect();
    for dir in &search {
        shower.show_directory(places, dir);
    }
    let words = std::iter::once(&command.program).chain(&command.args);
    for word in words.filter(|word| word.starts_with('/') && word.len() < 4096).map(Path::new) {
        // What the command line names, a program or a file, is meant for the process.
        if shower.may_show(word) && word.exists() {
            shower.show_program(places, word);
        }
    }
    let found = search.iter().map(|dir| dir.join(&command.program)).find(|path| path.is_file());
    if let Some(program) = found.filter(|_| !command.program.contains('/')) {
        shower.show_program(places, &program);
    }
}

/// The absolute paths in a variable, which may be a list.
fn paths_in<'a>(env: &'a BTreeMap<String, String>, name: &str) -> impl Iterator<Item = PathBuf> + use<'a> {
    let value = env.get(name).map(String::as_str).unwrap_or_default();
    value.split(':').filter(|path| path.starts_with('/')).map(PathBuf::from)
}

/// `NODE_EXTRA_CA_CERTS`, `REQUESTS_CA_BUNDLE`, `SSL_CERT_FILE`, `CARGO_HTTP_CAINFO`, `PIP_CERT` and their like.
fn names_certificates(variable: &str) -> bool {
    let name = variable.to_ascii_uppercase();
    name.contains("_CA_")
        || name.contains("SSL_CERT")
        || ["_CA", "_CAINFO", "_CERT"].iter().any(|end| name.ends_with(end))
}

#[derive(Debug)]
struct Shower<'a> {
    home: Option<&'a Path>,
    /// Windlass's own data, of which nothing is shown here.
    own: &'a Path,
    agents: AgentsDirs,
}

impl Shower<'_> {
    /// Not the home or something above it, nothing of Windlass's own, and nothing that an agent's link leads to.
    fn may_show(&self, path: &Path) -> bool {
        let Ok(real) = path.canonicalize() else { return false };
        if self.agents.mislead(path) {
            return false;
        }
        // Every sandbox has devices and processes of its own; `/dev/null` as an argument means that one.
        let made_inside = ["/dev", "/proc"].iter().any(|made| real.starts_with(made));
        let above_home = self.home.is_some_and(|home| home.starts_with(&real));
        real.parent().is_some()
            && !made_inside
            && !above_home
            && !real.starts_with(self.own)
            && !self.own.starts_with(&real)
    }

    /// A directory of `PATH`: its installation, and what its links point to.
    fn show_directory(&self, places: &mut Places, dir: &Path) {
        if !self.may_show(dir) {
            return;
        }
        let system = ["/usr/bin", "/bin", "/usr/sbin", "/sbin"].iter().any(|known| dir == Path::new(known));
        self.show_installation(places, dir);
        places.put(dir, Access::ReadOnly);
        if system {
            return;
        }
        let links = std::fs::read_dir(dir).into_iter().flatten().flatten();
        let links = links.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink())).take(MOST_LINKS);
        for link in links.map(|entry| entry.path()) {
            if link.canonicalize().is_ok_and(|real| !places.shows(&real)) && self.may_show(&link) {
                self.show_program(places, &link);
            }
        }
    }

    /// A program by all of its names, with the installation it belongs to and what runs it.
    fn show_program(&self, places: &mut Places, program: &Path) {
        let Ok(real) = program.canonicalize() else { return };
        if !self.may_show(&real) || !self.may_show(program) {
            return;
        }
        if let Some(dir) = real.parent() {
            self.show_installation(places, dir);
        }
        if real.is_file() || !places.shows(&real) {
            places.put(program, Access::ReadOnly);
        }
        // What an agent can write names no interpreter that is not seen anyway.
        if let Some(interpreter) = interpreter(&real).filter(|_| !self.agents.hold(&real))
            && let Ok(behind) = interpreter.canonicalize()
            && !places.shows(&behind)
            && self.may_show(&behind)
        {
            // A Python environment has only a link to the interpreter, which belongs to another installation.
            for dir in [&interpreter, &behind].into_iter().filter_map(|file| file.parent()) {
                self.show_installation(places, dir);
            }
            places.show(&interpreter);
        }
    }

    /// What is beside a `bin`, if it looks like an installation: whole if there is nothing else, else its parts.
    fn show_installation(&self, places: &mut Places, bin: &Path) {
        let Ok(bin) = bin.canonicalize() else { return };
        let package = bin.ancestors().find(|path| path.file_name().is_some_and(|name| name == "node_modules"));
        if let Some(package) = package.filter(|package| self.may_show(package)) {
            places.show(package);
        }
        let Some(root) = bin.parent().filter(|root| self.may_show(root) && !places.shows(root)) else { return };
        let is_bin =
            bin.file_name().is_some_and(|name| ["bin", "sbin", "shims", "scripts"].iter().any(|one| name == *one));
        // `~/.local` is shared by all programs and has what they store as well.
        if !is_bin || self.home.is_some_and(|home| root == home.join(".local") || root == home.join(".cargo")) {
            return;
        }
        let entries: Vec<_> = std::fs::read_dir(root).into_iter().flatten().flatten().collect();
        let known = |name: &std::ffi::OsStr| PREFIX_PARTS.iter().any(|part| name == *part);
        let plain = entries.iter().all(|entry| {
            let (name, file) = (entry.file_name(), entry.file_type().is_ok_and(|kind| kind.is_file()));
            known(&name) || file && !name.as_encoded_bytes().starts_with(b".")
        });
        if plain {
            places.put(root, Access::ReadOnly);
            return;
        }
        for entry in entries.iter().filter(|entry| known(&entry.file_name())) {
            places.show(&entry.path());
        }
    }
}

/// What the first line of a script names.
fn interpreter(script: &Path) -> Option<PathBuf> {
    let mut head = [0; 256];
    let read = std::fs::File::open(script).and_then(|mut file| file.read(&mut head)).ok()?;
    let line = head[..read].strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let word = std::str::from_utf8(line).ok()?.split_ascii_whitespace().next()?;
    word.starts_with('/').then(|| PathBuf::from(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Home(tempfile::TempDir);

    impl Home {
        fn with(files: &[&str]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            for file in files {
                let path = dir.path().join(file);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, "#!/bin/sh\n").unwrap();
            }
            Self(dir)
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(name)
        }

        fn shown(&self, search: &str, names: &[&str]) -> Vec<bool> {
            let env = [("PATH".to_owned(), self.path(search).to_string_lossy().into_owned())].into();
            let stdin = windlass_process::Stdin::Null;
            let command = CommandSpec { program: "tool".into(), args: Vec::new(), env, cwd: "/".into(), stdin };
            let mut places = Places::default();
            show_programs(&mut places, &command, Some(&self.path("")), Path::new("/nowhere"));
            names.iter().map(|name| places.shows(&self.path(name))).collect()
        }
    }

    #[test]
    fn an_installation_is_shown_with_its_libraries_and_a_project_only_in_parts() {
        let home = Home::with(&["node/v20/bin/tool", "node/v20/lib/x.js", "node/v20/README.md"]);
        assert_eq!(home.shown("node/v20/bin", &["node/v20/lib/x.js", "node/v20/README.md"]), [true, true]);
        let home = Home::with(&["project/bin/tool", "project/lib/x.rb", "project/.env", "project/notes/mine"]);
        let names = ["project/bin/tool", "project/lib/x.rb", "project/.env", "project/notes/mine"];
        assert_eq!(home.shown("project/bin", &names), [true, true, false, false]);
    }

    #[test]
    fn the_home_is_no_installation_and_neither_is_what_all_programs_share() {
        let home = Home::with(&["bin/tool", "lib/x", ".ssh/key"]);
        assert_eq!(home.shown("bin", &["bin/tool", ".ssh/key"]), [true, false]);
        let home = Home::with(&[".local/bin/tool", ".local/share/keyrings/login"]);
        assert_eq!(home.shown(".local/bin", &[".local/bin/tool", ".local/share/keyrings/login"]), [true, false]);
        let home = Home::with(&[".cargo/bin/tool", ".cargo/credentials.toml"]);
        assert_eq!(home.shown(".cargo/bin", &[".cargo/bin/tool", ".cargo/credentials.toml"]), [true, false]);
    }

    #[test]
    fn a_link_among_the_programs_shows_the_installation_it_leads_to() {
        let home = Home::with(&["bin/other", "venvs/tool/bin/tool", "venvs/tool/lib/x.py", "venvs/tool/pyvenv.cfg"]);
        std::os::unix::fs::symlink(home.path("venvs/tool/bin/tool"), home.path("bin/tool")).unwrap();
        assert_eq!(home.shown("bin", &["venvs/tool/lib/x.py", "venvs"]), [true, false]);
    }

    #[test]
    fn the_interpreter_that_an_environment_links_to_is_shown_with_its_libraries() {
        let home = Home::with(&["venv/bin/tool", "python/bin/python3", "python/lib/os.py", "python/other/mine"]);
        std::os::unix::fs::symlink(home.path("python/bin/python3"), home.path("venv/bin/python3")).unwrap();
        std::fs::write(home.path("venv/bin/tool"), format!("#!{}\n", home.path("venv/bin/python3").display())).unwrap();
        let names = ["python/bin/python3", "python/lib/os.py", "python/other/mine"];
        assert_eq!(home.shown("venv/bin", &names), [true, true, false]);
    }

    #[test]
    fn devices_and_processes_are_those_of_the_sandbox() {
        let stdin = windlass_process::Stdin::Null;
        let args = vec!["/dev/null".to_owned(), "/proc/self/status".to_owned(), "/etc/passwd".to_owned()];
        let command = CommandSpec { program: "/bin/sh".into(), args, env: BTreeMap::new(), cwd: "/".into(), stdin };
        let mut places = Places::default();
        show_programs(&mut places, &command, None, Path::new("/nowhere"));
        let shown = |path: &str| places.shows(&Path::new(path).canonicalize().unwrap());
        assert!(!shown("/dev/null") && !shown("/proc/self/status") && shown("/etc/passwd"));
    }

    #[test]
    fn variables_that_name_certificates_are_known_by_their_names() {
        for name in
            ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "CARGO_HTTP_CAINFO", "GIT_SSL_CAINFO", "PIP_CERT"]
        {
            assert!(names_certificates(name), "{name}");
        }
        assert!(!names_certificates("XDG_CACHE_HOME") && !names_certificates("PATH"));
    }
}
