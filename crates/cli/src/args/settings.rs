//! Flags of settings, made from the table of settings.

use std::fmt;
use std::marker::PhantomData;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use clap_complete::engine::ArgValueCandidates;
use windlass_engine::config::{Completes, Flag, KEYS, Key, Options, Takes, ValueError};

use crate::complete;

/// The settings that a command has flags for.
pub trait Chosen {
    /// Their keys, with other help where that of `run` does not fit; `None` for every setting with a flag.
    const FLAGS: Option<&'static [(&'static str, &'static str)]>;
}

/// Every flag, for `windlass run`.
#[derive(Debug, Clone)]
pub enum All {}

impl Chosen for All {
    const FLAGS: Option<&'static [(&'static str, &'static str)]> = None;
}

/// What the flags of a command say.
#[derive(Clone)]
pub struct SettingFlags<C> {
    options: Options,
    chosen: PhantomData<fn() -> C>,
}

impl<C> SettingFlags<C> {
    /// The flags as the highest layer of the settings.
    pub fn options(&self) -> Options {
        self.options.clone()
    }

    /// Whether gates are given.
    pub fn has_gates(&self) -> bool {
        self.options.gates.is_some() || self.options.hidden_gates.is_some()
    }
}

impl<C> fmt::Debug for SettingFlags<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.options.fmt(f)
    }
}

/// The keys of a command, each with its flag and help.
fn chosen<C: Chosen>() -> impl Iterator<Item = (&'static Key, Flag, String)> {
    KEYS.iter().filter_map(|key| {
        let flag = key.flag?;
        let own = match C::FLAGS {
            None => "",
            Some(flags) => flags.iter().find(|(name, _)| *name == key.name)?.1,
        };
        Some((key, flag, if own.is_empty() { key.flag_help()? } else { own.to_owned() }))
    })
}

impl<C: Chosen> Args for SettingFlags<C> {
    fn augment_args(command: Command) -> Command {
        // A flag or argument that the command does not have conflicts with nothing.
        let has = |name: &str| match C::FLAGS {
            None => true,
            Some(flags) => flags.iter().any(|(key, _)| *key == name),
        };
        chosen::<C>().fold(command, |command, (key, flag, help)| {
            let conflicts = flag.conflicts.iter().copied().filter(|name| has(name));
            command.arg(arg(key, flag).help(help).conflicts_with_all(conflicts))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn arg(key: &'static Key, flag: Flag) -> Arg {
    let long = key.flag_name().unwrap_or_default().trim_start_matches('-');
    let mut arg = Arg::new(key.name).long(long).help_heading(flag.heading);
    if let Some(name) = flag.value_name {
        arg = arg.value_name(name);
    }
    arg = match flag.completes {
        Some(Completes::Agents) => arg.add(ArgValueCandidates::new(complete::agents)),
        Some(Completes::Recipes) => arg.add(ArgValueCandidates::new(complete::recipes)),
        None => arg,
    };
    let check = |text: String| checked(key, text);
    match flag.takes {
        Takes::Nothing(_) => arg.action(ArgAction::SetTrue),
        Takes::Value if !key.words.is_empty() => {
            arg.value_parser(PossibleValuesParser::new(key.words).try_map(check)).action(ArgAction::Set)
        }
        Takes::Value => arg
            .value_parser(move |text: &str| check(text.to_owned()))
            .allow_negative_numbers(true)
            .action(ArgAction::Set),
        Takes::Items => arg.value_parser(move |text: &str| check(text.to_owned())).action(ArgAction::Append),
    }
}

fn checked(key: &Key, text: String) -> Result<String, ValueError> {
    Options::default().read_items(key.name, vec![text.clone()]).map(|()| text)
}

impl<C: Chosen> FromArgMatches for SettingFlags<C> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut options = Options::default();
        for (key, flag, _) in chosen::<C>() {
            let items: Vec<String> = match flag.takes {
                Takes::Nothing(says) if matches.get_flag(key.name) => vec![says.to_string()],
                Takes::Nothing(_) => continue,
                Takes::Value | Takes::Items => matches.get_many(key.name).into_iter().flatten().cloned().collect(),
            };
            if !items.is_empty() {
                // Each was checked before.
                let all = options.read_items(key.name, items);
                all.map_err(|error| Error::raw(clap::error::ErrorKind::ValueValidation, error))?;
            }
        }
        Ok(Self { options, chosen: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
