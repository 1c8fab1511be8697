//! Secrets that are known by how they look: keys of providers, tokens, private keys, passwords in addresses.
//!
//! Each shape begins with a trigger that is rare in ordinary text; what follows is judged then, never further than
//! [`FARTHEST`] bytes, so that little has to be kept back of a stream.

/// No judgement needs more than this.
pub(super) const FARTHEST: usize = 2 * 1024;

#[derive(Debug)]
pub(super) struct Shape {
    pub(super) name: &'static str,
    pub(super) trigger: &'static str,
    rule: Rule,
}

/// What has to follow the trigger.
#[derive(Debug, Clone, Copy)]
enum Rule {
    /// So many characters of a kind, or more.
    Token {
        kind: Kind,
        least: usize,
        mixed: bool,
    },
    /// So many and no more.
    Exactly {
        kind: Kind,
        count: usize,
    },
    /// An OpenAI key: long and mixed, or only hexadecimal.
    Sk,
    Jwt,
    PrivateKey,
    /// `://user:password@host`
    Connection,
    /// A name, something between, perhaps a scheme, and then the secret.
    Assigned {
        scheme: bool,
        kind: Kind,
        least: usize,
        exact: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `A-Z a-z 0-9`
    Letters,
    /// `A-Z 0-9`
    Capitals,
    /// Letters, `_` and `-`.
    Words,
    /// Words and `.`, as in a JWT.
    Dotted,
    /// Letters, `+ / =`.
    Base64,
    /// What a header's token may be made of.
    Header,
    /// Letters and `/`.
    Path,
}

impl Kind {
    pub(super) fn has(self, byte: u8) -> bool {
        match self {
            Kind::Letters => byte.is_ascii_alphanumeric(),
            Kind::Capitals => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Kind::Words => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Kind::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
            Kind::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
            Kind::Header => byte.is_ascii_alphanumeric() || b"._~+/=-".contains(&byte),
            Kind::Path => byte.is_ascii_alphanumeric() || byte == b'/',
        }
    }

    fn run(self, bytes: &[u8]) -> usize {
        bytes.iter().take(FARTHEST).take_while(|&&byte| self.has(byte)).count()
    }
}

const fn token(name: &'static str, trigger: &'static str, kind: Kind, least: usize) -> Shape {
    Shape { name, trigger, rule: Rule::Token { kind, least, mixed: false } }
}

const fn mixed(name: &'static str, trigger: &'static str, kind: Kind, least: usize) -> Shape {
    Shape { name, trigger, rule: Rule::Token { kind, least, mixed: true } }
}

const fn exactly(name: &'static str, trigger: &'static str, kind: Kind, count: usize) -> Shape {
    Shape { name, trigger, rule: Rule::Exactly { kind, count } }
}

const fn special(name: &'static str, trigger: &'static str, rule: Rule) -> Shape {
    Shape { name, trigger, rule }
}

const HEADER: Rule = Rule::Assigned { scheme: true, kind: Kind::Header, least: 12, exact: false };
const KEY_HEADER: Rule = Rule::Assigned { scheme: false, kind: Kind::Header, least: 16, exact: false };
const AWS_SECRET: Rule = Rule::Assigned { scheme: false, kind: Kind::Base64, least: 40, exact: true };

pub(super) const SHAPES: &[Shape] = &[
    token("anthropic-key", "sk-ant-", Kind::Words, 20),
    token("openrouter-key", "sk-or-v1-", Kind::Words, 32),
    special("openai-key", "sk-", Rule::Sk),
    token("github-token", "ghp_", Kind::Letters, 30),
    token("github-token", "gho_", Kind::Letters, 30),
    token("github-token", "ghu_", Kind::Letters, 30),
    token("github-token", "ghs_", Kind::Letters, 30),
    token("github-token", "ghr_", Kind::Letters, 30),
    token("github-token", "github_pat_", Kind::Words, 40),
    mixed("gitlab-token", "glpat-", Kind::Words, 20),
    mixed("slack-token", "xoxa-", Kind::Words, 10),
    mixed("slack-token", "xoxb-", Kind::Words, 10),
    mixed("slack-token", "xoxe-", Kind::Words, 10),
    mixed("slack-token", "xoxp-", Kind::Words, 10),
    mixed("slack-token", "xoxr-", Kind::Words, 10),
    mixed("slack-token", "xoxs-", Kind::Words, 10),
    token("slack-webhook", "hooks.slack.com/services/", Kind::Path, 30),
    exactly("aws-key", "AKIA", Kind::Capitals, 16),
    exactly("aws-key", "ASIA", Kind::Capitals, 16),
    special("aws-secret", "aws_secret_access_key", AWS_SECRET),
    special("aws-secret", "AWS_SECRET_ACCESS_KEY", AWS_SECRET),
    special("aws-secret", "SecretAccessKey", AWS_SECRET),
    exactly("google-key", "AIza", Kind::Words, 35),
    token("google-secret", "GOCSPX-", Kind::Words, 24),
    mixed("google-token", "ya29.", Kind::Words, 30),
    token("stripe-key", "sk_live_", Kind::Letters, 16),
    token("stripe-key", "rk_live_", Kind::Letters, 16),
    mixed("webhook-secret", "whsec_", Kind::Base64, 24),
    exactly("npm-token", "npm_", Kind::Letters, 36),
    token("pypi-token", "pypi-AgEI", Kind::Words, 40),
    mixed("huggingface-token", "hf_", Kind::Letters, 30),
    mixed("groq-key", "gsk_", Kind::Letters, 40),
    mixed("xai-key", "xai-", Kind::Letters, 60),
    mixed("shopify-token", "shpat_", Kind::Letters, 32),
    mixed("digitalocean-token", "dop_v1_", Kind::Letters, 60),
    mixed("sendgrid-key", "SG.", Kind::Dotted, 40),
    token("age-key", "AGE-SECRET-KEY-1", Kind::Capitals, 50),
    token("azure-key", "AccountKey=", Kind::Base64, 80),
    special("jwt", "eyJ", Rule::Jwt),
    special("private-key", "-----BEGIN ", Rule::PrivateKey),
    special("password", "://", Rule::Connection),
    special("authorization", "uthorization", HEADER),
    special("api-key", "x-api-key", KEY_HEADER),
    special("api-key", "X-Api-Key", KEY_HEADER),
    mixed("bearer-token", "Bearer ", Kind::Header, 20),
    mixed("bearer-token", "bearer ", Kind::Header, 20),
];

/// What the bytes from a trigger on are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judged {
    Nothing,
    /// Not told yet: more bytes are needed.
    More,
    /// A secret between these places; what follows of the same kind belongs to it.
    Secret {
        from: usize,
        to: usize,
        rest: Rest,
    },
}

/// What is still to be dropped after a secret that does not end where the bytes do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    None,
    Token(Kind),
    PrivateKey,
}

impl Shape {
    /// `bytes` begin with the trigger; `behind` are the two bytes before it. `whole`: nothing more will come.
    pub(super) fn judge(&self, bytes: &[u8], behind: [u8; 2], whole: bool) -> Judged {
        let after = self.trigger.len();
        let rest = bytes.get(after..).unwrap_or_default();
        let view = View { rest, open: !whole };
        let judged = match self.rule {
            Rule::Token { .. } | Rule::Exactly { .. } | Rule::Sk | Rule::Jwt if !starts_a_word(behind) => {
                Judged::Nothing
            }
            Rule::Token { kind, least, mixed } => view.token(kind, least, mixed),
            Rule::Exactly { kind, count } => view.exactly(kind, count),
            Rule::Sk => view.sk(),
            Rule::Jwt => view.jwt(),
            Rule::PrivateKey => view.private_key(),
            Rule::Connection => view.connection(),
            Rule::Assigned { scheme, kind, least, exact } => view.assigned(scheme, kind, least, exact),
        };
        match judged {
            Judged::Nothing | Judged::More => judged,
            // A token goes with its trigger; what was only introduced by one stands alone.
            Judged::Secret { from, to, rest } => {
                let from = match self.rule {
                    Rule::Connection | Rule::Assigned { .. } => after + from,
                    Rule::Token { .. } if self.trigger.ends_with([' ', '=', '/']) => after + from,
                    Rule::Token { .. } | Rule::Exactly { .. } | Rule::Sk | Rule::Jwt | Rule::PrivateKey => 0,
                };
                Judged::Secret { from, to: after + to, rest }
            }
        }
    }
}

/// In the middle of a word there is no key; after an escaped line end in JSON there may be one.
fn starts_a_word(behind: [u8; 2]) -> bool {
    let [before, last] = behind;
    let escape = before == b'\\' && matches!(last, b'n' | b'r' | b't');
    escape || !(last.is_ascii_alphanumeric() || matches!(last, b'_' | b'-' | b'+'))
}

/// What follows a trigger.
#[derive(Debug, Clone, Copy)]
struct View<'a> {
    rest: &'a [u8],
    /// More may come.
    open: bool,
}

impl View<'_> {
    /// Whether a run of so many bytes ends with the bytes there are, and could go on.
    fn goes_on(&self, run: usize) -> bool {
        self.open && run == self.rest.len() && run < FARTHEST
    }

    fn token(&self, kind: Kind, least: usize, needs_mix: bool) -> Judged {
        let run = kind.run(self.rest);
        if run >= least && (!needs_mix || is_mixed(&self.rest[..run])) {
            return Judged::Secret { from: 0, to: run, rest: Rest::Token(kind) };
        }
        if self.goes_on(run) { Judged::More } else { Judged::Nothing }
    }

    fn exactly(&self, kind: Kind, count: usize) -> Judged {
        match kind.run(self.rest) {
            run if run > count => Judged::Nothing,
            run if self.goes_on(run) => Judged::More,
            run if run == count => Judged::Secret { from: 0, to: run, rest: Rest::None },
            _ => Judged::Nothing,
        }
    }

    fn sk(&self) -> Judged {
        let run = Kind::Words.run(self.rest);
        let token = &self.rest[..run];
        if run >= 20 && has_cases(token) && is_mixed(token) {
            return Judged::Secret { from: 0, to: run, rest: Rest::Token(Kind::Words) };
        }
        if self.goes_on(run) {
            return Judged::More;
        }
        let hex = run >= 32 && token.iter().all(u8::is_ascii_hexdigit);
        if hex { Judged::Secret { from: 0, to: run, rest: Rest::None } } else { Judged::Nothing }
    }

    fn jwt(&self) -> Judged {
        const HEAD: std::ops::RangeInclusive<usize> = 8..=1024;
        let head = Kind::Words.run(self.rest);
        if !HEAD.contains(&head) && !self.goes_on(head) || head > *HEAD.end() {
            return Judged::Nothing;
        }
        let Some(payload) = self.rest.get(head..) else { return Judged::Nothing };
        let begin = b".eyJ";
        let there = payload.len().min(begin.len());
        if payload[..there] != begin[..there] {
            return Judged::Nothing;
        }
        let run = Kind::Dotted.run(payload);
        if there == begin.len() && run >= begin.len() + 8 {
            return Judged::Secret { from: 0, to: head + run, rest: Rest::Token(Kind::Dotted) };
        }
        if self.goes_on(head + run) { Judged::More } else { Judged::Nothing }
    }

    fn private_key(&self) -> Judged {
        let label = self
            .rest
            .iter()
            .take(48)
            .take_while(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || **b == b' ')
            .count();
        if self.goes_on(label) {
            return Judged::More;
        }
        if !self.rest[..label].windows(11).any(|part| part == b"PRIVATE KEY") {
            return Judged::Nothing;
        }
        let dashes = self.rest[label..].iter().take(5).take_while(|b| **b == b'-').count();
        if self.goes_on(label + dashes) {
            return Judged::More;
        }
        let gap = line_ends(&self.rest[label + dashes..]);
        let body = label + dashes + gap;
        let run = Kind::Base64.run(&self.rest[body..]);
        let head = |word: &[u8]| self.rest[body..].starts_with(word);
        if dashes == 5 && gap > 0 && (run >= 16 || head(b"Proc-Type:") || head(b"Comment:") || head(b"Version:")) {
            return Judged::Secret { from: 0, to: body, rest: Rest::PrivateKey };
        }
        let undecided = dashes == 5 && self.open && self.rest.len() - body < 32;
        if undecided { Judged::More } else { Judged::Nothing }
    }

    fn connection(&self) -> Judged {
        let part = |bytes: &[u8], most: usize| {
            bytes.iter().take(most).take_while(|b| b.is_ascii_graphic() && !b"/@\"'<>\\`".contains(b)).count()
        };
        let user =
            self.rest.iter().take(64).take_while(|b| b.is_ascii_graphic() && !b":/@\"'<>\\`".contains(b)).count();
        if self.goes_on(user) {
            return Judged::More;
        }
        if self.rest.get(user) != Some(&b':') {
            return Judged::Nothing;
        }
        let from = user + 1;
        let length = part(&self.rest[from..], 256);
        let to = from + length;
        if self.goes_on(to) {
            return Judged::More;
        }
        if self.rest.get(to) != Some(&b'@') {
            return Judged::Nothing;
        }
        let host =
            self.rest[to + 1..].iter().take(64).take_while(|b| b.is_ascii_alphanumeric() || b"-.".contains(b)).count();
        if self.goes_on(to + 1 + host) {
            return Judged::More;
        }
        let (user, password, host) = (&self.rest[..user], &self.rest[from..to], &self.rest[to + 1..to + 1 + host]);
        if is_stand_in(user, password, host) {
            return Judged::Nothing;
        }
        Judged::Secret { from, to, rest: Rest::None }
    }

    fn assigned(&self, scheme: bool, kind: Kind, least: usize, exact: bool) -> Judged {
        let gap = self.rest.iter().take(8).take_while(|b| b"\"'\\ :=\t".contains(b)).count();
        if self.goes_on(gap) {
            return Judged::More;
        }
        if !self.rest[..gap].iter().any(|b| matches!(b, b':' | b'=')) {
            return Judged::Nothing;
        }
        let mut from = gap;
        if scheme {
            let word = self.rest[gap..].iter().take(12).take_while(|b| b.is_ascii_alphabetic()).count();
            if self.goes_on(gap + word) {
                return Judged::More;
            }
            if word > 2 && self.rest.get(gap + word) == Some(&b' ') {
                from = gap + word + 1;
            }
        }
        let run = kind.run(&self.rest[from.min(self.rest.len())..]);
        let token = &self.rest[from.min(self.rest.len())..][..run];
        if self.goes_on(from + run) {
            return Judged::More;
        }
        let fits = if exact { run == least } else { run >= least };
        // Behind a scheme stands a credential; elsewhere it may be the name of a type.
        if !fits || !(is_mixed(token) || from > gap && has_cases(token)) {
            return Judged::Nothing;
        }
        Judged::Secret { from, to: from + run, rest: if exact { Rest::None } else { Rest::Token(kind) } }
    }
}

/// Letters and digits: words and numbers alone are no keys.
fn is_mixed(token: &[u8]) -> bool {
    token.iter().any(u8::is_ascii_digit) && token.iter().any(u8::is_ascii_alphabetic)
}

fn has_cases(token: &[u8]) -> bool {
    token.iter().any(u8::is_ascii_uppercase) && token.iter().any(u8::is_ascii_lowercase)
}

/// Line ends and blanks, also as JSON has them.
fn line_ends(bytes: &[u8]) -> usize {
    let mut at = 0;
    while at < 16 {
        match bytes.get(at) {
            Some(b'\n' | b'\r' | b' ' | b'\t') => at += 1,
            Some(b'\\') => {
                let slashes = bytes[at..].iter().take(8).take_while(|b| **b == b'\\').count();
                match bytes.get(at + slashes) {
                    Some(b'n' | b'r') => at += slashes + 1,
                    _ => break,
                }
            }
            _ => break,
        }
    }
    at
}

/// Passwords that stand in examples, on the machine itself, or for a variable.
fn is_stand_in(user: &[u8], password: &[u8], host: &[u8]) -> bool {
    const WORDS: [&str; 12] = [
        "password",
        "passw0rd",
        "postgres",
        "changeme",
        "username",
        "mypassword",
        "yourpassword",
        "secretpassword",
        "user_password",
        "your_password",
        "my-password",
        "your-password",
    ];
    let lower = String::from_utf8_lossy(password).to_ascii_lowercase();
    let local = host == b"localhost" || host.starts_with(b"127.") || host.is_empty();
    let example = host.starts_with(b"example.") || host.ends_with(b".example.com") || host.ends_with(b".example");
    password.len() < 8
        || local
        || example
        || user == password
        || WORDS.contains(&lower.as_str())
        || lower.bytes().any(|byte| b"${}*[]()".contains(&byte))
        || lower.contains("%s")
        || lower.bytes().all(|byte| byte == b'x' || byte == b'.')
}
