//! The lines of a prompt, and how an output line that repeats one of them is told: as it is, quoted, in a box, with a
//! line number or a bullet, or behind a prefix.

use std::collections::{HashMap, HashSet, VecDeque};

/// A shorter line behind a prefix may be there by chance.
const LEAST_TAIL: usize = 20;
/// So many letters and digits in a row are not the same by chance.
const LEAST_TRAIL: usize = 20;

/// The prompt's lines without decoration and blank ones, and which line follows which.
#[derive(Debug)]
pub(crate) struct PromptLines {
    followers: HashMap<String, Vec<String>>,
    /// Lines as they are, but for quote marks and indentation.
    plain: HashSet<String>,
    /// Lines by their ends.
    tails: HashMap<String, Vec<String>>,
    /// Its letters and digits alone: they stay the same wherever an echo breaks its lines.
    letters: String,
}

/// The last letters and digits of an output.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trail(VecDeque<char>);

impl Trail {
    pub fn push(&mut self, text: &str) {
        let mut last: Vec<char> = text.chars().rev().filter(|c| c.is_alphanumeric()).take(LEAST_TRAIL).collect();
        last.reverse();
        self.0.extend(last);
        self.0.drain(..self.0.len().saturating_sub(LEAST_TRAIL));
    }
}

/// A line of the prompt in the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repeated {
    /// The prompt's line.
    pub line: String,
    pub how: How,
}

impl Repeated {
    /// Words of the agent's own stand before the line.
    pub fn is_tail(&self) -> bool {
        self.how == How::Tail
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// But for quote marks and indentation.
    Plain,
    /// In a box, with a bullet or a number.
    Decorated,
    /// Behind other words.
    Tail,
}

impl PromptLines {
    pub fn of(prompt: &str) -> Self {
        let lines: Vec<&str> = prompt.lines().map(undecorated).filter(|line| !line.is_empty()).collect();
        let mut followers: HashMap<String, Vec<String>> = HashMap::new();
        let mut tails: HashMap<String, Vec<String>> = HashMap::new();
        for (index, line) in lines.iter().enumerate() {
            let next = followers.entry((*line).to_owned()).or_default();
            next.extend(lines.get(index + 1).map(|line| (*line).to_owned()));
            if let Some(end) = end_of(line) {
                tails.entry(end.to_owned()).or_default().push((*line).to_owned());
            }
        }
        let plain = prompt.lines().map(|line| bare(line).to_owned()).collect();
        let letters = lines.iter().flat_map(|line| line.chars()).filter(|c| c.is_alphanumeric()).collect();
        Self { followers, plain, tails, letters }
    }

    /// Whether the prompt itself continues with `text` after what the output said last, wherever the lines break.
    pub fn continues(&self, trail: &Trail, text: &str) -> bool {
        let next = text.chars().filter(|c| c.is_alphanumeric());
        trail.0.len() == LEAST_TRAIL && self.letters.contains(&trail.0.iter().copied().chain(next).collect::<String>())
    }

    /// The prompt's line that an output line repeats, if it does. `last` is the one that the line before it repeated.
    pub fn repeated(&self, output: &str, last: &str) -> Option<Repeated> {
        let line = undecorated(output);
        if self.followers.contains_key(line) {
            let how = if self.plain.contains(bare(output)) { How::Plain } else { How::Decorated };
            return Some(Repeated { line: line.to_owned(), how });
        }
        let next = self.followers.get(last).into_iter().flatten();
        let ending = end_of(line).and_then(|end| self.tails.get(end)).into_iter().flatten();
        let tail = next.chain(ending).filter(|known| is_tail(line, known)).max_by_key(|known| known.len())?;
        Some(Repeated { line: tail.clone(), how: How::Tail })
    }

    /// Whether the prompt has `text` between what the output said last and what it says `after`.
    pub fn surrounds(&self, trail: &Trail, text: &str, after: &str) -> bool {
        let next: Vec<char> = after.chars().filter(|c| c.is_alphanumeric()).take(LEAST_TRAIL).collect();
        let text = text.chars().filter(|c| c.is_alphanumeric());
        let all = || trail.0.iter().copied().chain(text).chain(next.iter().copied()).collect::<String>();
        next.len() == LEAST_TRAIL && self.letters.contains(&all())
    }

    pub fn follows(&self, before: &str, line: &str) -> bool {
        self.followers.get(before).is_some_and(|next| next.iter().any(|known| known == line))
    }

    /// Whether a repeated line belongs to the same run as the one before it. Lines as they are may come in any order,
    /// unless something lies between them; what only resembles a line must come where the prompt has it.
    pub fn goes_on(&self, before: &Repeated, blank_since: bool, line: &Repeated) -> bool {
        let plain = before.how == How::Plain && line.how == How::Plain;
        plain && !blank_since || self.follows(&before.line, &line.line)
    }
}

/// The last letters of a line that is long enough.
fn end_of(line: &str) -> Option<&str> {
    let mut from = line.len().checked_sub(LEAST_TAIL)?;
    while !line.is_char_boundary(from) {
        from += 1;
    }
    line.get(from..)
}

fn is_tail(line: &str, known: &str) -> bool {
    line.strip_suffix(known).is_some_and(|before| !before.ends_with(char::is_alphanumeric))
}

const QUOTES: [char; 7] = ['"', '\'', '`', '“', '”', '‘', '’'];

/// The line without indentation, quote prefixes (`> `, `| `) and quotation marks around it.
pub(crate) fn bare(line: &str) -> &str {
    line.trim_start_matches(|c: char| c.is_whitespace() || c == '>' || c == '|')
        .trim()
        .trim_start_matches(QUOTES)
        .trim_end_matches(QUOTES)
        .trim()
}

/// The line without all that may be put around a line to show it.
pub(crate) fn undecorated(line: &str) -> &str {
    let frame = |c: char| {
        c.is_whitespace()
            || QUOTES.contains(&c)
            || matches!(c, '\u{2500}'..='\u{259f}' | '|' | '*' | '_' | '~' | '#' | '•' | '·' | '→' | '»' | '«')
    };
    let before = |c: char| frame(c) || matches!(c, '>' | '-' | '+' | '=' | '–' | '—' | '◦' | '▪' | '●' | '❯');
    let after = |c: char| frame(c) || matches!(c, '}' | ']' | ',' | ';' | '+' | '\\');
    let mut line = line;
    loop {
        let shorter = line.trim_start_matches(before);
        let shorter = without_number(shorter).unwrap_or(shorter);
        if shorter.len() == line.len() {
            return line.trim_end_matches(after);
        }
        line = shorter;
    }
}

/// `12: text`, `12) text`, `[12] text`, `12<tab>text` without the number.
fn without_number(line: &str) -> Option<&str> {
    let open = line.strip_prefix(['[', '(', 'L']).unwrap_or(line);
    let digits = open.bytes().take_while(u8::is_ascii_digit).count();
    if !(1..=6).contains(&digits) {
        return None;
    }
    let rest = &open[digits..];
    let mut separators = rest.chars();
    let fits = match separators.next()? {
        '\t' | ':' | '|' | '→' | '│' | '┃' | '║' => true,
        '.' | ')' | ']' => separators.next().is_none_or(char::is_whitespace),
        ' ' => rest.trim_start().starts_with(['|', '│', '┃', '→', ':']) || rest.starts_with("  "),
        _ => false,
    };
    fits.then(|| rest.trim_start_matches(|c: char| c.is_whitespace() || ":.)]|→│┃║".contains(c)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoration_is_taken_off_and_words_stay() {
        for line in [
            "do it",
            "  > do it",
            "│ do it   │",
            "| do it |",
            "║  do it ║",
            "- do it",
            "* do it",
            "• do it",
            "12: do it",
            "    12\tdo it",
            " 12 | do it",
            "12→do it",
            "3. do it",
            "3) do it",
            "[3] do it",
            "## do it",
            "\"do it\",",
            "+ do it +",
            "> 12: - do it",
        ] {
            assert_eq!(undecorated(line), "do it", "{line:?}");
        }
        for words in ["3 tests", "12.5 percent", "2nd", "C: drive", "x-ray"] {
            assert_eq!(undecorated(words), words);
        }
        for nothing in ["", "+------+", "╭──────╮", "=====", "│      │", "***"] {
            assert_eq!(undecorated(nothing), "", "{nothing:?}");
        }
    }
}
