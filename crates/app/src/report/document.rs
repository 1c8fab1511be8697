//! A small document, written as Markdown or as one HTML page.

use std::fmt::Write as _;

use crate::words::safe;

/// The blocks of a document, in their order. Texts are plain: nothing in them is markup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    Heading(String),
    Text(String),
    Quote(String),
    Table { head: Vec<String>, rows: Vec<Vec<String>> },
}

/// A title and what is below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub title: String,
    pub blocks: Vec<Block>,
}

impl Document {
    pub fn markdown(&self) -> String {
        let mut text = format!("# {}\n", escaped_markdown(&self.title));
        for block in &self.blocks {
            text.push('\n');
            match block {
                Block::Heading(heading) => text.push_str(&format!("## {}\n", escaped_markdown(heading))),
                Block::Text(words) => text.push_str(&format!("{}\n", escaped_markdown(words))),
                Block::Quote(words) => {
                    words.lines().for_each(|line| text.push_str(&format!("> {}\n", escaped_markdown(line))));
                }
                Block::Table { head, rows } => {
                    let rows: Vec<Vec<String>> = std::iter::once(head)
                        .chain(rows)
                        .map(|cells| cells.iter().map(|cell| escaped_markdown(cell)).collect())
                        .collect();
                    text.push_str(&markdown_table(&rows));
                }
            }
        }
        text
    }

    /// One page that needs nothing else: no script, no file, no network.
    pub fn html(&self) -> String {
        let title = escaped_html(&self.title);
        let mut text = format!(
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
             content=\"width=device-width\">\n<title>{title}</title>\n<style>{STYLE}</style>\n<h1>{title}</h1>\n"
        );
        for block in &self.blocks {
            match block {
                Block::Heading(heading) => {
                    let _ = writeln!(text, "<h2>{}</h2>", escaped_html(heading));
                }
                Block::Text(words) => {
                    let _ = writeln!(text, "<p>{}</p>", escaped_html(words));
                }
                Block::Quote(words) => {
                    let _ = writeln!(text, "<blockquote>{}</blockquote>", escaped_html(words).replace('\n', "<br>"));
                }
                Block::Table { head, rows } => {
                    let row = |cells: &[String], tag: &str| {
                        let cells: String =
                            cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped_html(cell))).collect();
                        format!("<tr>{cells}</tr>\n")
                    };
                    let body: String = rows.iter().map(|cells| row(cells, "td")).collect();
                    let _ = writeln!(text, "<table>\n{}{body}</table>", row(head, "th"));
                }
            }
        }
        text.push_str("</html>\n");
        text
    }
}

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}\
table{border-collapse:collapse}td,th{border:1px solid #8888;padding:.25rem .6rem;text-align:left}\
blockquote{border-left:3px solid #8888;margin:1rem 0;padding-left:1rem}:root{color-scheme:light dark}";

/// Rows whose cells are aligned, since they are often read on a terminal. The first row is the head.
fn markdown_table(rows: &[Vec<String>]) -> String {
    /// Longer cells do not widen the others of their column.
    const WIDEST: usize = 40;
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| {
        let lengths = rows.iter().filter_map(|cells| Some(cells.get(column)?.chars().count()));
        lengths.filter(|length| *length <= WIDEST).max().unwrap_or_default().max(3)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for (number, cells) in rows.iter().enumerate() {
        let cells = cells.iter().zip(&widths).map(|(cell, width)| format!("| {cell:width$} "));
        text.extend(cells);
        text.push_str("|\n");
        if number == 0 {
            text.extend(widths.iter().map(|width| format!("| {} ", "-".repeat(*width))));
            text.push_str("|\n");
        }
    }
    text
}

/// Text in which Markdown finds no markup.
fn escaped_markdown(text: &str) -> String {
    let mut escaped = String::new();
    for c in safe(text).chars() {
        match c {
            '\n' => escaped.push(' '),
            '<' => escaped.push_str("&lt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' => escaped.extend(['\\', c]),
            _ => escaped.push(c),
        }
    }
    escaped
}

fn escaped_html(text: &str) -> String {
    safe(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text_in_both_forms() {
        let table = Block::Table { head: vec!["a|b".into()], rows: vec![vec!["<b>*x*</b>".into()]] };
        let document = Document { title: "T <script>".into(), blocks: vec![Block::Quote("one\n# two".into()), table] };
        let expected = "# T &lt;script>\n\n> one\n> \\# two\n\n| a\\|b               |\n| ------------------ |\n| &lt;b>\\*x\\*&lt;/b> |\n";
        assert_eq!(document.markdown(), expected);
        let html = document.html();
        assert!(
            html.contains("<h1>T &lt;script&gt;</h1>") && html.contains("<td>&lt;b&gt;*x*&lt;/b&gt;</td>"),
            "{html}"
        );
        assert!(!html.contains("<script"), "{html}");
    }
}
