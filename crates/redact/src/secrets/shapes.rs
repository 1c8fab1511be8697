//! Secrets that are known by how they look: keys of providers, tokens, private keys, passwords in addresses.
//!
//! The kinds are data (`shapes.txt`). Each shape starts with a trigger that is rare in ordinary text; what follows is
//! judged then, never further than [`FARTHEST`] bytes, so that little must be kept back of a stream.

use std::sync::LazyLock;

/// No judgement needs more than this.
pub(super) const FARTHEST: usize = 2 * 1024;

#[derive(Debug)]
pub(super) struct Shape {
    pub(super) name: &'static str,
    pub(super) trigger: String,
    rule: Rule,
}

/// What must follow the trigger.
#[derive(Debug, Clone, Copy)]
enum Rule {
    Token(Token),
    /// The same, behind digits that belong to it.
    BehindDigits(Token),
    /// An OpenAI key: long and mixed, or only hexadecimal.
    Sk,
    Jwt,
    PrivateKey,
    /// `://user:password@host`
    Connection,
    /// A name, something between, perhaps a scheme, and then the secret.
    Assigned {
        scheme: bool,
        token: Token,
    },
    /// The rest of a variable's name, something between, and then the secret.
    Named(Token),
}

/// So many characters of a kind.
#[derive(Debug, Clone, Copy)]
struct Token {
    kind: Kind,
    least: usize,
    most: Option<usize>,
    needs: Needs,
    /// The trigger only introduces it.
    alone: bool,
}

/// What distinguishes a token from a word or a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    /// Letters and digits.
    Mix,
    /// Capitals, other letters, and digits.
    Cases,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `A-Z a-z 0-9`
    Letters,
    /// `A-Z 0-9`
    Capitals,
    /// `a-z 0-9`
    Lower,
    /// `0-9 a-f`, in either case.
    Hex,
    /// Hexadecimal digits and `-`.
    Uuid,
    /// Capitals and `-`.
    Dashed,
    /// Letters, `_` and `-`.
    Words,
    /// Words and `.`, as in a JWT.
    Dotted,
    /// Letters, `+ / =`, and `_ -` of the variant for addresses.
    Base64,
    /// What a header's token may be made of.
    Header,
    /// The same with `%`, as in an address.
    Encoded,
    /// Letters and `/`.
    Path,
    /// Words and `/`.
    WordPath,
    /// Words, `/` and `@`.
    Teams,
}

impl Kind {
    pub(super) fn has(self, byte: u8) -> bool {
        let letter = byte.is_ascii_alphanumeric();
        match self {
            Kind::Letters => letter,
            Kind::Capitals => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Kind::Lower => byte.is_ascii_lowercase() || byte.is_ascii_digit(),
            Kind::Hex => byte.is_ascii_hexdigit(),
            Kind::Uuid => byte.is_ascii_hexdigit() || byte == b'-',
            Kind::Dashed => byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'-',
            Kind::Words => letter || matches!(byte, b'_' | b'-'),
            Kind::Dotted => letter || matches!(byte, b'_' | b'-' | b'.'),
            Kind::Base64 => letter || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-'),
            Kind::Header => letter || b"._~+/=-".contains(&byte),
            Kind::Encoded => letter || b"._~+/=-%".contains(&byte),
            Kind::Path => letter || byte == b'/',
            Kind::WordPath => letter || matches!(byte, b'_' | b'-' | b'/'),
            Kind::Teams => letter || matches!(byte, b'_' | b'-' | b'/' | b'@'),
        }
    }

    fn run(self, bytes: &[u8]) -> usize {
        bytes.iter().take(FARTHEST).take_while(|&&byte| self.has(byte)).count()
    }

    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "letters" => Kind::Letters,
            "capitals" => Kind::Capitals,
            "lower" => Kind::Lower,
            "hex" => Kind::Hex,
            "uuid" => Kind::Uuid,
            "dashed" => Kind::Dashed,
            "words" => Kind::Words,
            "dotted" => Kind::Dotted,
            "base64" => Kind::Base64,
            "header" => Kind::Header,
            "encoded" => Kind::Encoded,
            "path" => Kind::Path,
            "wordpath" => Kind::WordPath,
            "teams" => Kind::Teams,
            _ => return None,
        })
    }
}

/// What is looked for, longer triggers before those that they start with.
pub(super) static SHAPES: LazyLock<Vec<Shape>> = LazyLock::new(|| {
    let lines = include_str!("shapes.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut shapes: Vec<Shape> =
        lines.flat_map(|line| read(line).unwrap_or_else(|| unreachable!("a test reads every line: {line}"))).collect();
    shapes.sort_by_key(|shape| std::cmp::Reverse(shape.trigger.len()));
    shapes
});

/// The shapes of a line of `shapes.txt`, one for each trigger.
fn read(line: &'static str) -> Option<Vec<Shape>> {
    let mut words = line.split_whitespace();
    let (name, rule, kind, length) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let token = || {
        let (least, most) = match (length.strip_suffix('+'), length.split_once('-')) {
            (Some(least), _) => (least.parse().ok()?, None),
            (None, Some((least, most))) => (least.parse().ok()?, Some(most.parse().ok()?)),
            (None, None) => (length.parse().ok()?, Some(length.parse().ok()?)),
        };
        Some(Token { kind: Kind::named(kind)?, least, most, needs: Needs::Nothing, alone: false })
    };
    let rule = match rule {
        "prefix" => Rule::Token(token()?),
        "mixed" => Rule::Token(Token { needs: Needs::Mix, ..token()? }),
        "cased" => Rule::Token(Token { needs: Needs::Cases, ..token()? }),
        "value" => Rule::Token(Token { alone: true, ..token()? }),
        "value-mixed" => Rule::Token(Token { needs: Needs::Mix, alone: true, ..token()? }),
        "digits" => Rule::BehindDigits(Token { needs: Needs::Mix, ..token()? }),
        "named" => Rule::Named(Token { needs: Needs::Mix, alone: true, ..token()? }),
        "assigned" => Rule::Assigned { scheme: false, token: Token { needs: Needs::Mix, alone: true, ..token()? } },
        "header" => Rule::Assigned { scheme: true, token: Token { needs: Needs::Mix, alone: true, ..token()? } },
        "sk" => Rule::Sk,
        "jwt" => Rule::Jwt,
        "private-key" => Rule::PrivateKey,
        "connection" => Rule::Connection,
        _ => return None,
    };
    let shapes: Vec<Shape> = words.map(|trigger| Shape { name, trigger: trigger.replace("\\s", " "), rule }).collect();
    (!shapes.is_empty()).then_some(shapes)
}

/// What the bytes from a trigger on are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judged {
    Nothing,
    /// Undecided: more bytes are needed.
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
    /// Whether the bytes start with the trigger. The names of variables are written in any case.
    pub(super) fn begins(&self, bytes: &[u8]) -> bool {
        let Some(found) = bytes.get(..self.trigger.len()) else { return false };
        let trigger = self.trigger.as_bytes();
        if self.in_any_case() { found.eq_ignore_ascii_case(trigger) } else { found == trigger }
    }

    pub(super) fn in_any_case(&self) -> bool {
        matches!(self.rule, Rule::Named(_))
    }

    /// `bytes` start with the trigger; `behind` are the two bytes before it. `whole`: nothing more will come.
    pub(super) fn judge(&self, bytes: &[u8], behind: [u8; 2], whole: bool) -> Judged {
        let after = self.trigger.len();
        let rest = bytes.get(after..).unwrap_or_default();
        let view = View { rest, open: !whole };
        let (judged, alone) = match self.rule {
            Rule::Token(token) => (view.token(token, self.place(behind, Some(token))), token.alone),
            Rule::BehindDigits(token) => {
                let digits = behind.iter().all(u8::is_ascii_digit);
                (if digits { view.token(token, Beginning::Free) } else { Judged::Nothing }, false)
            }
            Rule::Sk if self.place(behind, None) == Beginning::Inside => (Judged::Nothing, false),
            Rule::Sk => (view.sk(), false),
            Rule::Jwt => (view.jwt(), false),
            Rule::PrivateKey => (view.private_key(), false),
            Rule::Connection => (view.connection(), true),
            Rule::Assigned { scheme, token } => (view.assigned(scheme, token), true),
            Rule::Named(token) => (view.named(self.trigger.as_bytes(), token), true),
        };
        match judged {
            Judged::Nothing | Judged::More => judged,
            // Redact a token with its trigger, but keep a trigger that only introduces it.
            Judged::Secret { from, to, rest } => {
                Judged::Secret { from: if alone { after + from } else { 0 }, to: after + to, rest }
            }
        }
    }

    /// Whether a token may start here. In the middle of a word it may if its trigger stands out, or its length is fixed.
    fn place(&self, behind: [u8; 2], token: Option<Token>) -> Beginning {
        let [before, last] = behind;
        let escape = before == b'\\' && matches!(last, b'n' | b'r' | b't');
        let trigger = self.trigger.as_bytes();
        if escape || !(last.is_ascii_alphanumeric() || matches!(last, b'_' | b'-' | b'+')) {
            return Beginning::Free;
        }
        let marked = trigger.iter().any(|byte| !byte.is_ascii_alphanumeric());
        let fixed = token.is_some_and(|token| token.most == Some(token.least));
        let stands_out = trigger.len() >= 4 && (marked || fixed) || trigger.ends_with(b"~");
        match stands_out || matches!(last, b'_' | b'-') {
            true => Beginning::Glued,
            false => Beginning::Inside,
        }
    }
}

/// The position of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beginning {
    /// A word starts here; after an escaped line end in JSON too.
    Free,
    /// It is glued to something before it, and must look random.
    Glued,
    /// In the middle of a word.
    Inside,
}

/// What follows a trigger.
#[derive(Debug, Clone, Copy)]
struct View<'a> {
    rest: &'a [u8],
    /// More may come.
    open: bool,
}

impl View<'_> {
    /// Whether a run of so many bytes ends with the bytes there are, and could continue.
    fn goes_on(&self, run: usize) -> bool {
        self.open && run == self.rest.len() && run < FARTHEST
    }

    fn token(&self, token: Token, place: Beginning) -> Judged {
        if place == Beginning::Inside {
            return Judged::Nothing;
        }
        let run = token.kind.run(self.rest);
        let found = &self.rest[..run];
        let fits = run >= token.least
            && token.needs.are_met(found)
            && (place == Beginning::Free || is_mixed(found) && is_random(found));
        match token.most {
            Some(most) if run > most => Judged::Nothing,
            // How long it is must be seen first.
            Some(_) if self.goes_on(run) => Judged::More,
            Some(_) if fits => Judged::Secret { from: 0, to: run, rest: Rest::None },
            None if fits => Judged::Secret { from: 0, to: run, rest: Rest::Token(token.kind) },
            None if self.goes_on(run) => Judged::More,
            Some(_) | None => Judged::Nothing,
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

    fn assigned(&self, scheme: bool, token: Token) -> Judged {
        let gap = self.gap(0);
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
        let run = token.kind.run(&self.rest[from.min(self.rest.len())..]);
        let value = &self.rest[from.min(self.rest.len())..][..run];
        if self.goes_on(from + run) {
            return Judged::More;
        }
        let fits = run >= token.least && token.most.is_none_or(|most| run <= most);
        // After a scheme it is a credential; elsewhere it may be a type name.
        if !fits || !(is_mixed(value) || from > gap && has_cases(value)) {
            return Judged::Nothing;
        }
        let rest = if token.most.is_some() { Rest::None } else { Rest::Token(token.kind) };
        Judged::Secret { from, to: from + run, rest }
    }

    /// Quotes, blanks, and what assigns.
    fn gap(&self, from: usize) -> usize {
        self.rest[from..].iter().take(8).take_while(|b| b"\"'\\ :=>\t".contains(b)).count()
    }

    fn named(&self, trigger: &[u8], token: Token) -> Judged {
        let name =
            self.rest.iter().take(40).take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')).count();
        if self.goes_on(name) {
            return Judged::More;
        }
        if !means_a_secret(trigger) && !means_a_secret(&self.rest[..name]) {
            return Judged::Nothing;
        }
        let from = name + self.gap(name);
        if self.goes_on(from) {
            return Judged::More;
        }
        if !self.rest[name..from].iter().any(|b| matches!(b, b':' | b'=')) {
            return Judged::Nothing;
        }
        let run = token.kind.run(&self.rest[from..]);
        if self.goes_on(from + run) {
            return Judged::More;
        }
        let value = &self.rest[from..from + run];
        let fits = run >= token.least && token.most.is_none_or(|most| run <= most);
        if !fits || !is_mixed(value) || !is_random(value) {
            return Judged::Nothing;
        }
        Judged::Secret { from, to: from + run, rest: Rest::None }
    }
}

impl Needs {
    fn are_met(self, token: &[u8]) -> bool {
        match self {
            Needs::Nothing => true,
            Needs::Mix => is_mixed(token),
            Needs::Cases => is_mixed(token) && has_cases(token),
        }
    }
}

/// Whether a variable with this name contains a secret.
fn means_a_secret(name: &[u8]) -> bool {
    const WORDS: [&str; 8] = ["key", "token", "secret", "pass", "auth", "cred", "api", "pat"];
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    WORDS.iter().any(|word| name.contains(word))
}

/// Whether the characters differ as in something random: bits for each of them, by how often each one occurs.
fn is_random(token: &[u8]) -> bool {
    const LEAST_BITS: f64 = 2.9;
    let token = &token[..token.len().min(128)];
    let mut counts = [0_u32; 256];
    token.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
    let length = token.len() as f64;
    let bits: f64 =
        counts.iter().filter(|count| **count > 0).map(|&count| f64::from(count) / length).map(|p| -p * p.log2()).sum();
    bits >= LEAST_BITS
}

/// Letters and digits: words or numbers alone are not keys.
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

/// Passwords in examples, on localhost, or as placeholders.
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
