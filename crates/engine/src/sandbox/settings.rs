//! Settings of git and package managers as a sandbox shows them: without logins.
//!
//! Their formats differ (INI, TOML, YAML, Erlang terms), so lines are judged, not values. Invariant: of a value on several lines
//! either all lines are shown, or none. A line too few costs a program a setting; a line too many is a login in the hands of an agent.

use std::sync::LazyLock;

use windlass_redact::secrets::Rules;

/// Anywhere in a line, whatever the case and with or without `_`, `-` and `.` between the words.
const ANYWHERE: [&str; 14] = [
    "token",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "authorization",
    "credential",
    "extraheader",
    "apikey",
    "authkey",
    "accesskey",
    "encryptedkey",
    "privatekey",
    "beginpgp",
];

/// In the name of a setting.
const IN_NAME: [&str; 8] = ["pass", "pwd", "auth", "key", "cookie", "login", "session", "bearer"];

/// Names that have one of these words and are no login.
const HARMLESS: [&str; 5] = ["author", "signingkey", "keyserver", "keyid", "hostkey"];

const VALUES_OF_LINES: [&str; 2] = ["\"\"\"", "'''"];

static SHAPES: LazyLock<Rules> = LazyLock::new(Rules::default);

/// Leaves out lines that look like a login, with all lines of such a value, and the whole section if it is its head.
pub(super) fn without_logins(text: &str) -> String {
    let mut kept = String::new();
    let mut section = false;
    let mut left_out = LeftOut::Nothing;
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        left_out = left_out.at(line, indent);
        if left_out != LeftOut::Nothing {
            continue;
        }
        let login = is_login(line);
        if line.trim_start().starts_with('[') {
            section = login;
        }
        if login {
            left_out = LeftOut::after(line, indent);
        } else if !section {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// What is left out of the lines after a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeftOut {
    Nothing,
    /// Those that stand further to the right: the value of a key in YAML, or one that goes on in an INI file.
    Deeper(usize),
    /// The next one; the login's line ends in a backslash.
    Next(usize),
    /// Those before the end of a text on several lines, and the one that has it.
    Until(&'static str),
}

impl LeftOut {
    fn after(line: &str, indent: usize) -> Self {
        let open = VALUES_OF_LINES.into_iter().find(|mark| line.matches(mark).count() % 2 == 1);
        match open {
            Some(mark) => LeftOut::Until(mark),
            None if line.trim_end().ends_with('\\') => LeftOut::Next(indent),
            None => LeftOut::Deeper(indent),
        }
    }

    /// What this line is.
    fn at(self, line: &str, indent: usize) -> Self {
        match self {
            LeftOut::Deeper(than) if indent > than && !line.trim().is_empty() => self,
            LeftOut::Next(of) if line.trim_end().ends_with('\\') => LeftOut::Next(of),
            LeftOut::Next(of) => LeftOut::Deeper(of.max(indent)),
            LeftOut::Until(mark) if line.contains(mark) => LeftOut::Deeper(usize::MAX),
            LeftOut::Until(_) => self,
            LeftOut::Nothing | LeftOut::Deeper(_) => LeftOut::Nothing,
        }
    }
}

fn is_login(line: &str) -> bool {
    let plain = plain(line);
    if ANYWHERE.iter().any(|word| plain.contains(word)) && !says_yes_or_no(line) {
        return true;
    }
    is_named(line) || has_user_in_address(line) || !SHAPES.find(line.as_bytes()).is_empty()
}

/// In lower case, without what stands between words.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, '_' | '-' | '.' | ' ')).map(|c| c.to_ascii_lowercase()).collect()
}

/// `always-auth=true` is not a login.
fn says_yes_or_no(line: &str) -> bool {
    let value = line.rsplit(['=', ':', ' ']).next().unwrap_or_default();
    ["true", "false", "yes", "no"].contains(&value.trim_matches([' ', '"', '\'', ',']))
}

fn is_named(line: &str) -> bool {
    // In `//host/:_auth=…` the name comes after the last colon before the value, so all before the value counts.
    let end = line.find('=').or_else(|| line.find(": ")).or_else(|| line.trim_end().strip_suffix(':').map(str::len));
    let name = end.or_else(|| line.trim().find(' ')).map_or(line, |end| &line[..end]);
    let name = HARMLESS.iter().fold(plain(name), |name, harmless| name.replace(harmless, ""));
    IN_NAME.iter().any(|word| name.contains(word)) && !says_yes_or_no(line)
}

/// `https://user:password@host`, the same without its scheme, and a token in the path, as conda has it.
fn has_user_in_address(line: &str) -> bool {
    line.split([' ', '"', '\'', '=', ',', '<', '>', '\t']).any(|word| {
        let (scheme, rest) = word.split_once("://").map_or((false, word), |(_, rest)| (true, rest));
        let mut parts = rest.split('/');
        let host = parts.next().unwrap_or_default();
        let user = host.rsplit_once('@').map(|(user, _)| user);
        let named = user.is_some_and(|user| scheme || user.contains(':'));
        named || scheme && parts.any(|part| part == "t")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_keep_who_commits_and_where_packages_come_from() {
        let git = "[user]\n\tname = Me\n\temail = keith.passman@example.org\n\tsigningkey = ABC\n[author]\n\tname = Me\n\
                   [alias]\n\tst = status\n[core]\n\teditor = vim\n[url \"git@github.com:\"]\n\tinsteadOf = https://github.com/\n\
                   [filter \"lfs\"]\n\tprocess = git-lfs filter-process\n\trequired = true\n";
        assert_eq!(without_logins(git), git);
        let npm = "registry=https://npm.example/\n@mine:registry=https://npm.example/mine/\nalways-auth=true\n";
        assert_eq!(without_logins(npm), npm);
        let yarn = "nodeLinker: node-modules\nnpmScopes:\n  mine:\n    npmRegistryServer: \"https://npm.example\"\n";
        assert_eq!(without_logins(yarn), yarn);
        let cargo = "[registries.mine]\nindex = \"sparse+https://cargo.example/\"\n[env]\nLIBCLANG_PATH = \"/opt/llvm\"\n\
                     [[index]]\nurl = \"https://a.example/\"\n";
        assert_eq!(without_logins(cargo), cargo);
    }

    #[test]
    fn settings_have_no_login_whatever_it_is_called_and_however_it_is_written() {
        let files = [
            "[credential]\n\thelper = store --file LOGIN\n[user]\n\tname = Me\n",
            "[url \"https://x:LOGIN@github.com/\"]\n\tinsteadOf = LOGIN\n",
            "[http]\n\textraheader = Authorization: Basic LOGIN\n\textraHeader = \\\n LOGIN\n",
            "[core]\n\tpassword = \\\nLOGIN \\\nLOGIN\n",
            "[sendemail]\n\tsmtpPass = LOGIN\n[github]\n\toauth = LOGIN\n",
            "[alias]\n\tz = !curl -H X-Api-Key:LOGIN\n",
            "//npm.example/:_authToken=LOGIN\n//npm.example/:key=\"LOGIN\"\n_auth=LOGIN\n_password=LOGIN\n",
            "npmAuthIdent: \"LOGIN\"\nnpmScopes:\n  x:\n    npmAuthToken: >-\n      LOGIN\n      LOGIN\n",
            "\"//r.example/:_authToken\" \"LOGIN\"\n",
            "{api_key,<<\"LOGIN\">>}.\n#{auth_key => <<\"LOGIN\">>}.\n{encrypted_key,<<\"LOGIN\">>}.\n",
            "channels:\n  - https://conda.example/t/LOGIN/main\n",
            "OPENAI_API_KEY = \"LOGIN\"\nDB_PASS=\"LOGIN\"\nFOO_TOKEN = \"\"\"\nLOGIN\nLOGIN\"\"\"\n",
            "extra-index-url =\n   https://u:LOGIN@pypi.example/\nproxy = u:LOGIN@proxy:1\n",
            ":rubygems_api_key: LOGIN\nhackage-pass: LOGIN\n",
            "[http]\nproxy = \"u:LOGIN@proxy.example:80\"\n",
        ];
        for file in files {
            let kept = without_logins(&format!("{file}last = kept\n"));
            assert!(!kept.contains("LOGIN"), "{file}\n->\n{kept}");
        }
        let shaped = format!("STRIPE = \"sk_live_{}\"\n", "a1B2c3D4e5F6g7H8i9J0k1L2");
        assert_eq!(without_logins(&shaped), "");
        assert!(without_logins("[credential]\n\thelper = x\n[user]\n\tname = Me\n").contains("name = Me"));
        assert_eq!(without_logins("token = \"\"\"\nx\n\"\"\"\nnext = 1\n"), "next = 1\n");
    }
}
