//! Just enough Markdown to know what a line is: prose, a heading, or something that only quotes text.
//!
//! Whoever looks for a marker or a verdict asks here first, so that an example inside a fence is never taken for the
//! thing itself. Every line of a text is one `Line`, in order; none is left out.

/// One line of a text, without its line end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// From 1.
    pub number: u32,
    pub text: &'a str,
    pub kind: Kind<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind<'a> {
    Blank,
    Prose,
    Heading {
        level: u8,
        title: &'a str,
    },
    /// The line that opens a fence, with the words after it.
    FenceOpen {
        info: &'a str,
    },
    /// A line inside a fence.
    Fenced,
    FenceClose,
    /// Code by four columns of indentation.
    Indented,
    /// Part of an HTML comment that spans lines.
    Comment,
}

impl<'a> Kind<'a> {
    pub fn heading(self) -> Option<(u8, &'a str)> {
        match self {
            Kind::Heading { level, title } => Some((level, title)),
            Kind::Blank
            | Kind::Prose
            | Kind::FenceOpen { .. }
            | Kind::Fenced
            | Kind::FenceClose
            | Kind::Indented
            | Kind::Comment => None,
        }
    }

    /// The words behind the marks that open a fence.
    pub fn fence_info(self) -> Option<&'a str> {
        match self {
            Kind::FenceOpen { info } => Some(info),
            Kind::Blank
            | Kind::Prose
            | Kind::Heading { .. }
            | Kind::Fenced
            | Kind::FenceClose
            | Kind::Indented
            | Kind::Comment => None,
        }
    }

    /// Whether the line is shown as it is, so that nothing in it means anything.
    pub fn is_code(self) -> bool {
        match self {
            Kind::FenceOpen { .. } | Kind::Fenced | Kind::FenceClose | Kind::Indented => true,
            Kind::Blank | Kind::Prose | Kind::Heading { .. } | Kind::Comment => false,
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Open {
    Nothing,
    Fence { mark: u8, length: usize },
    Comment,
}

/// What is left open at the end of a text swallows whatever is put behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unclosed {
    Fence { line: u32 },
    Comment { line: u32 },
}

impl Unclosed {
    pub fn line(self) -> u32 {
        match self {
            Unclosed::Fence { line } | Unclosed::Comment { line } => line,
        }
    }
}

pub(crate) fn lines(text: &str) -> Vec<Line<'_>> {
    scan(text).0
}

/// The lines, and the fence or comment that the text opens and does not close.
pub(crate) fn scan(text: &str) -> (Vec<Line<'_>>, Option<Unclosed>) {
    let mut scanner = Scanner { open: Open::Nothing, opened_at: 0, in_list: false, in_paragraph: false };
    let lines = (1..)
        .zip(text.strip_prefix('\u{feff}').unwrap_or(text).lines())
        .map(|(number, text)| Line { number, text, kind: scanner.kind(number, text) })
        .collect();
    let unclosed = match scanner.open {
        Open::Nothing => None,
        Open::Fence { .. } => Some(Unclosed::Fence { line: scanner.opened_at }),
        Open::Comment => Some(Unclosed::Comment { line: scanner.opened_at }),
    };
    (lines, unclosed)
}

struct Scanner {
    open: Open,
    opened_at: u32,
    /// Indented lines belong to a list item, so a fence may be indented as deep as the item.
    in_list: bool,
    /// A paragraph is open: an indented line continues with it and is not a code.
    in_paragraph: bool,
}

impl Scanner {
    fn kind<'a>(&mut self, number: u32, text: &'a str) -> Kind<'a> {
        match self.open {
            Open::Fence { mark, length } => {
                if closes(text, mark, length) {
                    self.open = Open::Nothing;
                    return Kind::FenceClose;
                }
                Kind::Fenced
            }
            Open::Comment => {
                if text.contains("-->") {
                    self.open = Open::Nothing;
                }
                Kind::Comment
            }
            Open::Nothing => self.outside(number, text),
        }
    }

    fn outside<'a>(&mut self, number: u32, text: &'a str) -> Kind<'a> {
        let (content, indent) = (text.trim(), columns(text));
        let was_in_paragraph = std::mem::replace(&mut self.in_paragraph, false);
        if content.is_empty() {
            return Kind::Blank;
        }
        if indent >= 4 && !self.in_list {
            self.in_paragraph = was_in_paragraph;
            return if was_in_paragraph { Kind::Prose } else { Kind::Indented };
        }
        let item = list_item(content);
        if let Some((mark, length, info)) = fence(item.unwrap_or(content)) {
            self.in_list = item.is_some() || (self.in_list && indent >= 2);
            (self.open, self.opened_at) = (Open::Fence { mark, length }, number);
            return Kind::FenceOpen { info };
        }
        let heading = heading(content).filter(|_| indent < 4);
        let is_comment = content.starts_with("<!--");
        let goes_on = was_in_paragraph && heading.is_none() && !is_comment;
        self.in_list = item.is_some() || (self.in_list && (indent >= 2 || goes_on));
        if is_comment && !content.contains("-->") {
            (self.open, self.opened_at) = (Open::Comment, number);
            return Kind::Comment;
        }
        self.in_paragraph = heading.is_none() && !is_comment;
        heading.map_or(Kind::Prose, |(level, title)| Kind::Heading { level, title })
    }
}

/// How far a line is indented.
pub(crate) fn columns(text: &str) -> usize {
    let mut columns = 0;
    for byte in text.bytes() {
        match byte {
            b' ' => columns += 1,
            b'\t' => columns += 4 - columns % 4,
            _ => break,
        }
    }
    columns
}

fn fence(content: &str) -> Option<(u8, usize, &str)> {
    let mark = *content.as_bytes().first().filter(|mark| matches!(mark, b'`' | b'~'))?;
    let length = content.bytes().take_while(|byte| *byte == mark).count();
    let info = content[length..].trim();
    // Backticks with backticks behind them are code within a line.
    let inline = mark == b'`' && info.contains('`');
    (length >= 3 && !inline).then_some((mark, length, info))
}

fn closes(text: &str, mark: u8, length: usize) -> bool {
    fence(text.trim()).is_some_and(|(closing, found, info)| closing == mark && found >= length && info.is_empty())
}

fn heading(content: &str) -> Option<(u8, &str)> {
    let level = content.bytes().take_while(|byte| *byte == b'#').count();
    let rest = &content[level..];
    let spaced = rest.is_empty() || rest.starts_with([' ', '\t']);
    if level == 0 || level > 6 || !spaced {
        return None;
    }
    let rest = rest.trim();
    let bare = rest.trim_end_matches('#');
    let closed = bare.is_empty() || bare.ends_with([' ', '\t']);
    Some((u8::try_from(level).ok()?, if closed { bare.trim_end() } else { rest }))
}

/// What a list item says, without its bullet or number.
pub(crate) fn list_item(line: &str) -> Option<&str> {
    let content = line.trim();
    let rest = content.strip_prefix(['-', '*', '+', '•']).or_else(|| {
        let digits = content.bytes().take_while(u8::is_ascii_digit).count();
        (1..=9).contains(&digits).then(|| content[digits..].strip_prefix(['.', ')', '、'])).flatten()
    })?;
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then(|| rest.trim())
}

/// The text without the marks that Markdown puts around words.
pub(crate) fn without_emphasis(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | '`' | '~'))
}

/// A line that names what follows: `### Name`, `**Name**: rest`, `- Name: rest`, with either kind of colon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Label<'a> {
    pub name: &'a str,
    pub rest: &'a str,
}

impl Label<'_> {
    /// Whether it is this name, in any case, perhaps with more words: `Verification commands` is `Verification`.
    pub fn is(&self, name: &str) -> bool {
        let own = self.name.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        own && !self.name[name.len()..].starts_with(|c: char| c.is_ascii_alphanumeric())
    }
}

const COLONS: [char; 2] = [':', '：'];

pub(crate) fn label(line: Line<'_>) -> Option<Label<'_>> {
    let (content, is_heading) = match line.kind {
        Kind::Heading { title, .. } => (title, true),
        Kind::Prose => (list_item(line.text).unwrap_or(line.text.trim()), false),
        Kind::Blank | Kind::FenceOpen { .. } | Kind::Fenced | Kind::FenceClose | Kind::Indented | Kind::Comment => {
            return None;
        }
    };
    let (name, rest) = match emphasised(content) {
        Some((name, rest)) if rest.is_empty() || name.ends_with(COLONS) || rest.starts_with(COLONS) => (name, rest),
        Some(_) | None => match content.split_once(COLONS) {
            Some(split) => split,
            None if is_heading => (content, ""),
            None => return None,
        },
    };
    let name = without_emphasis(name).trim_end_matches(COLONS).trim_end();
    let rest = rest.trim_start().trim_start_matches(COLONS).trim();
    (!name.is_empty()).then_some(Label { name, rest })
}

/// `**words** rest` as words and rest.
fn emphasised(content: &str) -> Option<(&str, &str)> {
    let mark = ["**", "__", "*", "_"].into_iter().find(|mark| content.starts_with(mark))?;
    let (words, rest) = content[mark.len()..].split_once(mark)?;
    (!words.trim().is_empty()).then_some((words.trim(), rest.trim()))
}

/// Lines as one text, without blank lines around it.
pub(crate) fn joined<'a>(lines: impl IntoIterator<Item = &'a str>) -> String {
    let lines: Vec<&str> = lines.into_iter().collect();
    let is_full = |line: &&str| !line.trim().is_empty();
    let Some(first) = lines.iter().position(is_full) else { return String::new() };
    let last = lines.iter().rposition(is_full).unwrap_or(first);
    lines[first..=last].iter().map(|line| line.trim_end_matches('\r')).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> String {
        let sign = |line: &Line<'_>| match line.kind {
            Kind::Blank => '.',
            Kind::Prose => 'p',
            Kind::Heading { level, .. } => char::from(b'0' + level),
            Kind::FenceOpen { .. } => '<',
            Kind::Fenced => 'f',
            Kind::FenceClose => '>',
            Kind::Indented => 'i',
            Kind::Comment => 'c',
        };
        lines(text).iter().map(sign).collect()
    }

    #[test]
    fn a_fence_ends_only_at_one_of_its_own_kind_and_length() {
        for (text, expected) in [
            ("```\n# a\n```\n# b", "<f>1"),
            ("````\n```\n````\n# b", "<f>1"),
            ("~~~ md\n```\n~~~~\n# b", "<f>1"),
            ("```sh\n``` x\n```", "<f>"),
            ("   ```\n# a\n  ```\n# b", "<f>1"),
            ("```a`b\n# h", "p1"),
            ("~~~a`b\n# h", "<f"),
            ("``\n# h", "p1"),
            ("```\n# never closed", "<f"),
        ] {
            assert_eq!(kinds(text), expected, "{text}");
        }
    }

    #[test]
    fn a_fence_in_a_list_item_may_be_indented() {
        assert_eq!(kinds("1. do\n\n    ```\n    # a\n    ```\n2. go\n# b"), "p.<f>p1");
        assert_eq!(kinds("- do\n\nprose\n\n    ```\n# b"), "p.p.i1");
        assert_eq!(kinds("- ```sh\n  # a\n  ```\n# b"), "<f>1");
    }

    #[test]
    fn code_by_indentation_does_not_interrupt_a_paragraph() {
        assert_eq!(kinds("    # a\n\n\t# b\nprose\n    # c"), "i.ipp");
        assert_eq!(kinds("# a\n    # b\n<!-- c -->\n    # d"), "1ipi");
        assert_eq!(kinds("- a\n<!-- c -->\n    # d\n- a\nlazy\n    # e"), "ppippp");
    }

    #[test]
    fn a_heading_has_a_space_after_its_marks() {
        let title = |line: &str| lines(line)[0].kind.heading().map(|(level, title)| (level, title.to_owned()));
        assert_eq!(title("## A b ##"), Some((2, "A b".into())));
        assert_eq!(title("  # C#"), Some((1, "C#".into())));
        assert_eq!(title("##"), Some((2, String::new())));
        assert_eq!(title("##A"), None);
        assert_eq!(title("####### a"), None);
        assert_eq!(title("\u{feff}# a"), Some((1, "a".into())));
    }

    #[test]
    fn a_comment_over_several_lines_hides_what_is_in_it() {
        assert_eq!(kinds("<!--\n# a\n-->\n# b\n<!-- c -->\n# d"), "ccc1p1");
        assert_eq!(scan("a\n<!-- x\n").1, Some(Unclosed::Comment { line: 2 }));
        assert_eq!(scan("a\n```\n").1, Some(Unclosed::Fence { line: 2 }));
        assert_eq!(scan("```\n```").1, None);
    }

    #[test]
    fn a_label_is_a_heading_or_bold_or_ends_with_a_colon() {
        let of = |line| label(lines(line)[0]).map(|label| (label.name.to_owned(), label.rest.to_owned()));
        let some = |name: &str, rest: &str| Some((name.to_owned(), rest.to_owned()));
        for (line, expected) in [
            ("### Files", some("Files", "")),
            ("### **Files**:", some("Files", "")),
            ("**Feature**: login", some("Feature", "login")),
            ("**Feature:** login", some("Feature", "login")),
            ("**Feature**：登录", some("Feature", "登录")),
            ("- *Tests*: 3 passed", some("Tests", "3 passed")),
            ("1. Lint: clean: yes", some("Lint", "clean: yes")),
            ("__Notes__", some("Notes", "")),
            ("**bold** words", None),
            ("prose", None),
            (": x", None),
            ("**", None),
            ("    a: b", None),
        ] {
            assert_eq!(of(line), expected, "{line}");
        }
        let label = Label { name: "Verification commands", rest: "" };
        assert!(label.is("verification") && !label.is("verify") && !label.is("verification commands and more"));
        assert!(!Label { name: "é", rest: "" }.is("a"));
    }

    #[test]
    fn joined_lines_have_no_blank_ones_around_them() {
        assert_eq!(joined(["", " ", " a\r", "", "b", "\t"]), " a\n\nb");
        assert_eq!(joined(["", " "]), "");
    }
}
