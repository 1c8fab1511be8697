//! One settings file as a layer.
//!
//! Invariant: every key of the file ends up in the layer with its line, or the read is an error that names the line.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml_edit::{Document, Item, Key as TomlKey, TableLike};

use super::error::ConfigError;
use super::keys::{InProject, KEYS, Key, Misread};
use super::origin::{Layer, Origin, Place};
use super::profiles;
use windlass_core::nearest::nearest;

/// Far beyond any settings; keeps a device or a wrong file from filling the memory.
const LARGEST: u64 = 1024 * 1024;
const AGENTS: &str = "agents";

/// The layer of a file; `None` if there is no such file.
pub(super) fn read(path: &Path, origin: impl Fn(PathBuf, usize) -> Origin) -> Result<Option<Layer>, ConfigError> {
    read_text(path)?.map(|text| read_layer(path, &text, origin)).transpose()
}

/// The text of a file; `None` if there is no such file.
pub(super) fn read_text(path: &Path) -> Result<Option<String>, ConfigError> {
    let Some(bytes) = read_bytes(path)? else { return Ok(None) };
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let valid = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]).into_owned();
            let end = valid.len();
            return Err(ConfigError::NotText { place: Source { path, text: &valid }.place(end) });
        }
    };
    // An editor's byte-order mark is no character of the first line.
    Ok(Some(text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_owned)))
}

/// The layer that a file of this text is.
pub(super) fn read_layer(
    path: &Path,
    text: &str,
    origin: impl Fn(PathBuf, usize) -> Origin,
) -> Result<Layer, ConfigError> {
    let source = Source { path, text };
    let document = parse(&source)?;
    let mut layer = Layer::default();
    let known = KEYS.iter().map(|key| key.name).chain([AGENTS]);
    for (key, item) in entries(document.as_table()) {
        let at = source.place_of(key.span());
        if key.get() == AGENTS {
            layer.agents = profiles::read(&source, item, &origin)?;
            continue;
        }
        let Some(known) = KEYS.iter().find(|known| known.name == key.get()) else {
            return Err(unknown(at, "", key.get(), known.clone().collect()));
        };
        let origin = origin(path.to_owned(), source.line_of(key.span()));
        if known.in_project == InProject::Refused && matches!(origin, Origin::ProjectFile { .. }) {
            return Err(ConfigError::NotInProject { place: at, key: known.name });
        }
        read_setting(&mut layer, &source, known, key, item, origin)?;
    }
    Ok(layer)
}

/// The document that a file's text is.
pub(super) fn parse<'a>(source: &Source<'a>) -> Result<Document<&'a str>, ConfigError> {
    Document::parse(source.text).map_err(|error| ConfigError::Syntax {
        place: source.place(error.span().map_or(0, |span| span.start)),
        message: error.message().trim_end().replace('\n', ", "),
    })
}

/// Takes one setting of a file into a layer.
pub(super) fn read_setting(
    layer: &mut Layer,
    source: &Source<'_>,
    known: &Key,
    key: &TomlKey,
    item: &Item,
    origin: Origin,
) -> Result<(), ConfigError> {
    let (value, at) = plain_value(source, key, item, known.expected, known.example)?;
    layer.options.read_toml(known.name, &value).map_err(|misread| match misread {
        Misread::Type => wrong_type(at, known.name, known.expected, known.example, item),
        Misread::Value(error) => ConfigError::Value { place: at, key: known.name.to_owned(), error },
    })?;
    layer.origins.insert(known.name, origin);
    Ok(())
}

/// What a key holds, with its place. A list of tables may be written as a list or with [[headers]].
pub(super) fn plain_value(
    source: &Source<'_>,
    key: &TomlKey,
    item: &Item,
    expected: &'static str,
    example: &'static str,
) -> Result<(toml_edit::Value, Place), ConfigError> {
    let at = source.place_of(key.span());
    match item {
        Item::Value(value) => Ok((value.clone(), source.place_of(span_of(key, item)))),
        Item::None | Item::Table(_) | Item::ArrayOfTables(_) => match item.clone().into_value() {
            Ok(value) => Ok((value, at)),
            Err(item) => Err(wrong_type(at, key.get(), expected, example, &item)),
        },
    }
}

fn read_bytes(path: &Path) -> Result<Option<Vec<u8>>, ConfigError> {
    let unreadable = |source| ConfigError::Unreadable { path: path.to_owned(), source };
    // A pipe in a repository would never end. One that a shell passes is below these.
    let passed = path.starts_with("/dev") || path.starts_with("/proc");
    let opened = path.metadata().and_then(|found| match found.is_file() || found.is_dir() || passed {
        true => File::open(path),
        false => Err(io::Error::other("not a regular file")),
    });
    let file = match opened {
        Ok(file) => file,
        // A parent that is a file, as `.windlass` may be, is no settings file either.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(unreadable(error)),
    };
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > LARGEST {
        return Err(ConfigError::TooLarge { path: path.to_owned(), limit: LARGEST });
    }
    Ok(Some(bytes))
}

/// The keys of a table with what they hold, as written.
pub(super) fn entries(table: &dyn TableLike) -> Vec<(&TomlKey, &Item)> {
    table.iter().filter_map(|(key, _)| table.get_key_value(key)).collect()
}

/// A file's text, to find places in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) path: &'a Path,
    pub(super) text: &'a str,
}

impl Source<'_> {
    fn place(&self, offset: usize) -> Place {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Place::File {
            path: self.path.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }

    pub(super) fn place_of(&self, span: Option<Range<usize>>) -> Place {
        self.place(span.map_or(0, |span| span.start))
    }

    pub(super) fn line_of(&self, span: Option<Range<usize>>) -> usize {
        let offset = span.map_or(0, |span| span.start);
        self.text.get(..offset).unwrap_or(self.text).matches('\n').count() + 1
    }
}

/// An unknown key below `table` (empty for the top).
pub(super) fn unknown(place: Place, table: &str, key: &str, known: Vec<&'static str>) -> ConfigError {
    let nearest = nearest(key, known.iter().copied()).map(str::to_owned);
    let key = if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") };
    ConfigError::UnknownKey { place, key: key.escape_debug().to_string(), nearest, known }
}

pub(super) fn wrong_type(
    place: Place,
    key: &str,
    expected: &'static str,
    example: &'static str,
    item: &Item,
) -> ConfigError {
    let found = match item {
        Item::None => "nothing",
        Item::Table(_) | Item::Value(toml_edit::Value::InlineTable(_)) => "a table",
        Item::ArrayOfTables(_) => "a list of tables",
        Item::Value(toml_edit::Value::String(_)) => "a string",
        Item::Value(toml_edit::Value::Integer(_)) => "an integer",
        Item::Value(toml_edit::Value::Float(_)) => "a float",
        Item::Value(toml_edit::Value::Boolean(_)) => "true or false",
        Item::Value(toml_edit::Value::Datetime(_)) => "a date",
        Item::Value(toml_edit::Value::Array(_)) => "a list",
    };
    ConfigError::Type { place, key: key.to_owned(), expected, example, found }
}

/// Where the mistake in a value is: the value, or its key where a table has no place of its own.
pub(super) fn span_of(key: &TomlKey, item: &Item) -> Option<Range<usize>> {
    item.span().or_else(|| key.span())
}
