//! Which environment variables reach the programs that a loop starts: what every program needs, and what was named.
//!
//! Everything else stays with the engine: an agent cannot print, commit, or send a key that it does not get.

/// What programs need to find their way, as names or, with a `*` at the end, as beginnings of names.
const ORDINARY: &[&str] = &[
    // User, home, and directories.
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "HOSTNAME",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TZDIR",
    "TMPDIR",
    "TMP",
    "TEMP",
    "XDG_*",
    // The terminal.
    "TERM",
    "TERMINFO",
    "TERMINFO_DIRS",
    "COLORTERM",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "PAGER",
    "EDITOR",
    "VISUAL",
    "CI",
    // The way out, and whom to trust there.
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "FTP_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "ftp_proxy",
    "no_proxy",
    "SSL_CERT_*",
    "NIX_SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
    "GIT_SSL_CAINFO",
    "PIP_CERT",
    // Git, as the engine itself sees it.
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_AUTHOR_*",
    "GIT_COMMITTER_*",
    // Where tools live and what they build with.
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_*",
    "CARGO_INCREMENTAL",
    "CARGO_NET_*",
    "CARGO_TERM_*",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "RUSTFLAGS",
    "RUSTDOCFLAGS",
    "RUSTC_WRAPPER",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "SCCACHE_DIR",
    "CCACHE_DIR",
    "GOPATH",
    "GOROOT",
    "GOBIN",
    "GOCACHE",
    "GOMODCACHE",
    "GOFLAGS",
    "GOPROXY",
    "GOPRIVATE",
    "GOTOOLCHAIN",
    "CGO_ENABLED",
    "JAVA_HOME",
    "JDK_HOME",
    "JAVA_TOOL_OPTIONS",
    "MAVEN_HOME",
    "MAVEN_OPTS",
    "M2_HOME",
    "GRADLE_HOME",
    "GRADLE_OPTS",
    "GRADLE_USER_HOME",
    "ANDROID_HOME",
    "ANDROID_SDK_ROOT",
    "KOTLIN_HOME",
    "SDKMAN_DIR",
    "NVM_DIR",
    "NVM_BIN",
    "NVM_INC",
    "VOLTA_HOME",
    "FNM_DIR",
    "FNM_MULTISHELL_PATH",
    "N_PREFIX",
    "NODE_ENV",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NPM_CONFIG_CACHE",
    "NPM_CONFIG_PREFIX",
    "NPM_CONFIG_REGISTRY",
    "npm_config_cache",
    "npm_config_prefix",
    "npm_config_registry",
    "COREPACK_HOME",
    "PNPM_HOME",
    "YARN_CACHE_FOLDER",
    "BUN_INSTALL",
    "DENO_DIR",
    "DENO_INSTALL",
    "PLAYWRIGHT_BROWSERS_PATH",
    "CHROME_BIN",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "CONDA_DEFAULT_ENV",
    "PYENV_ROOT",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
    "PIP_CACHE_DIR",
    "PIP_INDEX_URL",
    "UV_CACHE_DIR",
    "UV_PYTHON_INSTALL_DIR",
    "POETRY_HOME",
    "POETRY_CACHE_DIR",
    "RBENV_ROOT",
    "GEM_HOME",
    "GEM_PATH",
    "BUNDLE_PATH",
    "BUNDLE_GEMFILE",
    "ASDF_DIR",
    "ASDF_DATA_DIR",
    "MISE_DATA_DIR",
    "MISE_CACHE_DIR",
    "MISE_CONFIG_DIR",
    "COMPOSER_HOME",
    "DOTNET_ROOT",
    "DOTNET_CLI_HOME",
    "NUGET_PACKAGES",
    "OPAMROOT",
    "GHCUP_INSTALL_BASE_PREFIX",
    "STACK_ROOT",
    "ERL_LIBS",
    "MIX_ENV",
    "RAILS_ENV",
    "NIX_PATH",
    "NIX_PROFILES",
    "NIX_STORE",
    "NIX_CFLAGS_*",
    "NIX_LDFLAGS",
    "NIX_CC",
    "IN_NIX_SHELL",
    "HOMEBREW_PREFIX",
    "HOMEBREW_CELLAR",
    "SDKROOT",
    "DEVELOPER_DIR",
    "MACOSX_DEPLOYMENT_TARGET",
    "CC",
    "CXX",
    "AR",
    "LD",
    "CFLAGS",
    "CXXFLAGS",
    "CPPFLAGS",
    "LDFLAGS",
    "MAKEFLAGS",
    "CMAKE_*",
    "PKG_CONFIG_PATH",
    "LD_LIBRARY_PATH",
    "DYLD_*",
    "LIBRARY_PATH",
    "CPATH",
    "LIBCLANG_PATH",
    "OPENSSL_DIR",
    "PROTOC",
    "MANPATH",
    "INFOPATH",
    // Windlass's own directories, for an agent that calls it.
    "WINDLASS_HOME",
    "WINDLASS_CONFIG",
];

/// Whether a variable reaches the programs of a loop: it is an ordinary one, or one of `named`.
pub fn passes<'a>(name: &str, named: impl IntoIterator<Item = &'a str>) -> bool {
    ORDINARY.iter().copied().chain(named).any(|pattern| is_meant(pattern, name))
}

/// Whether a pattern, a name or the start of one with a `*` behind it, means this variable.
fn is_meant(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => pattern == name,
    }
}

/// Whether a variable's name marks its value as secret.
pub fn looks_secret(name: &str) -> bool {
    // These suffixes name a path or a storage method, not a key.
    const HARMLESS_ENDS: [&str; 12] =
        ["_FILE", "_PATH", "_DIR", "_URL", "_ENV", "_NAME", "_ID", "_TYPE", "_COUNT", "_LIMIT", "_TIMEOUT", "_SOCK"];
    const WORDS: [&str; 10] =
        ["SECRET", "TOKEN", "PASSWORD", "PASSWD", "PASSPHRASE", "PASS", "CREDENTIAL", "CREDENTIALS", "AUTH", "PAT"];
    const PAIRS: [&str; 8] =
        ["API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY", "SIGNING_KEY", "ENCRYPTION_KEY", "SECRET_KEY", "AUTH_KEY"];
    const CONNECTIONS: [&str; 8] =
        ["DATABASE_URL", "DB_URL", "REDIS_URL", "MONGO_URL", "MONGODB_URI", "AMQP_URL", "SENTRY_DSN", "POSTGRES_URL"];
    let name = name.to_ascii_uppercase();
    if CONNECTIONS.iter().any(|known| name == *known || name.ends_with(&format!("_{known}"))) {
        return true;
    }
    if HARMLESS_ENDS.iter().any(|end| name.ends_with(end)) {
        return false;
    }
    PAIRS.iter().any(|pair| name.contains(pair)) || name.split(['_', '-', '.']).any(|part| WORDS.contains(&part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_variables_pass_and_others_do_not() {
        for name in ["PATH", "HOME", "LC_TIME", "XDG_RUNTIME_DIR", "https_proxy", "CARGO_HOME", "SSL_CERT_FILE"] {
            assert!(passes(name, []), "{name}");
        }
        for name in ["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "SSH_AUTH_SOCK", "DATABASE_URL", "CARGO_REGISTRY_TOKEN"] {
            assert!(!passes(name, []), "{name}");
        }
        // A prefix is not a name.
        assert!(!passes("PATHS", []));
    }

    #[test]
    fn what_is_named_passes_by_its_name_or_its_beginning() {
        assert!(passes("DATABASE_URL", ["DATABASE_URL"]));
        assert!(passes("AWS_REGION", ["AWS_*"]));
        assert!(!passes("AWSOME", ["AWS_*"]));
        assert!(!passes("database_url", ["DATABASE_URL"]));
    }

    #[test]
    fn nothing_ordinary_looks_like_a_secret() {
        let odd: Vec<_> = ORDINARY.iter().filter(|name| looks_secret(name.trim_end_matches('*'))).collect();
        assert!(odd.is_empty(), "{odd:?}");
    }

    #[test]
    fn secrets_are_told_by_their_names() {
        for name in [
            "AWS_SECRET_ACCESS_KEY",
            "GITHUB_TOKEN",
            "OPENAI_API_KEY",
            "DB_PASSWORD",
            "DATABASE_URL",
            "NPM_TOKEN",
            "STRIPE_SECRET",
            "my_api_key",
            "PGPASSWORD_PASS",
            "SENTRY_DSN",
            "APP_DATABASE_URL",
        ] {
            assert!(looks_secret(name), "{name}");
        }
        for name in ["PATH", "SSH_AUTH_SOCK", "TOKEN_LIMIT", "API_KEY_FILE", "KEYBOARD", "COMPASS", "PATTERN", "TOKENS"]
        {
            assert!(!looks_secret(name), "{name}");
        }
    }
}
