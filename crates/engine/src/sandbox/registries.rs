//! The user's logins for package registries. Only the set-up on the base commit gets them, and only with
//! `setup_credentials = true`: no agent has written what it runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use windlass_supervise::Access;

use super::places::Places;
use super::private::Private;

/// Below the home. The set-up gets copies, so what it changes there is gone when it ends. For everybody else they are hidden.
pub(super) const LOGIN_FILES: &[&str] = &[
    ".npmrc",
    ".config/pnpm/rc",
    ".config/pnpm/auth.ini",
    ".yarnrc",
    ".yarnrc.yml",
    ".bunfig.toml",
    ".netrc",
    "_netrc",
    ".pypirc",
    ".config/pip/pip.conf",
    ".pip/pip.conf",
    ".config/uv/uv.toml",
    ".local/share/uv/credentials/credentials.toml",
    ".config/pypoetry/config.toml",
    ".config/pypoetry/auth.toml",
    ".condarc",
    ".cargo/config.toml",
    ".cargo/config",
    ".cargo/credentials.toml",
    ".cargo/credentials",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".sbt/.credentials",
    ".ivy2/.credentials",
    ".gem/credentials",
    ".local/share/gem/credentials",
    ".bundle/config",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".nuget/NuGet/NuGet.Config",
    ".config/NuGet/NuGet.Config",
    ".hex/hex.config",
    ".config/go/env",
    ".gitconfig",
    ".config/git/config",
    ".git-credentials",
    ".config/git/credentials",
];

/// Directories of such files, below the home, of which tools expect that they can be read if they are there.
pub(super) const LOGIN_DIRS: &[&str] = &[".local/share/uv/credentials"];

/// Below a directory that a variable names.
const MOVED_FILES: &[(&str, &[&str])] = &[
    ("CARGO_HOME", &["config.toml", "config", "credentials.toml", "credentials"]),
    ("GRADLE_USER_HOME", &["gradle.properties"]),
    ("COMPOSER_HOME", &["auth.json"]),
];

/// Variables that name such a file.
const FILE_VARIABLES: &[&str] =
    &["NPM_CONFIG_USERCONFIG", "npm_config_userconfig", "PIP_CONFIG_FILE", "NETRC", "UV_CONFIG_FILE"];

/// Variables that hold a login, as names or beginnings of names.
pub(crate) const LOGIN_VARIABLES: &[&str] = &[
    "NPM_TOKEN",
    "NODE_AUTH_TOKEN",
    "NPM_CONFIG_*",
    "npm_config_*",
    "YARN_NPM_*",
    "CARGO_REGISTRY_*",
    "CARGO_REGISTRIES_*",
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_CONFIG_FILE",
    "UV_INDEX*",
    "UV_DEFAULT_INDEX",
    "UV_EXTRA_INDEX_URL",
    "UV_CONFIG_FILE",
    "POETRY_HTTP_BASIC_*",
    "POETRY_PYPI_TOKEN_*",
    "NETRC",
    "GOAUTH",
    "BUNDLE_*",
    "GEM_HOST_API_KEY",
    "COMPOSER_AUTH",
    "COMPOSER_HOME",
    "NUGET_*",
    "NuGetPackageSourceCredentials_*",
    "VSS_NUGET_EXTERNAL_FEED_ENDPOINTS",
    "ORG_GRADLE_PROJECT_*",
    "HEX_*",
];

/// Puts the logins where tools look for them.
pub(super) fn show_logins(
    places: &mut Places,
    private: &Private,
    env: &BTreeMap<String, String>,
    home: Option<&Path>,
    copies: bool,
) {
    let absolute = |name: &str| env.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let in_home = home.into_iter().flat_map(|home| LOGIN_FILES.iter().map(|name| home.join(name)));
    let moved = MOVED_FILES.iter().flat_map(|(variable, names)| {
        let dir = absolute(variable);
        names.iter().filter_map(move |name| dir.as_ref().map(|dir| dir.join(name)))
    });
    let named = FILE_VARIABLES.iter().filter_map(|variable| absolute(variable));
    for path in in_home.chain(moved).chain(named).filter(|path| path.is_file()) {
        if copies && private.covers(&path) {
            private.copy(&path);
        } else {
            places.put(&path, Access::ReadOnly);
        }
    }
}
