//! Where a reader of a feed is, in a form that can be handed out and come back.
//!
//! Invariant: a reader that continues from a cursor gets everything not given out before, and nothing else, also in the
//! middle of a turn's output. For that it says how the output was cut into pieces: from where the session read, and
//! which piece was being given out.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::transcript::Place;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The last event of the journal that was given out.
    pub seq: u64,
    /// In a turn: what was given out of its output.
    pub turn: Option<TurnCursor>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TurnCursor {
    /// The number of the event with which it started.
    pub started: u64,
    /// Where the session started to read.
    pub from: Place,
    /// The piece that was last read, and its end.
    pub at: Place,
    pub end: Place,
    /// How many items of it were given out.
    pub shown: usize,
    /// The output is over: the piece is what the session said at its end.
    pub finished: bool,
}

/// A place in a feed at which readers can take each other's part: whoever reads on from here gives the same, however
/// what came before was cut into pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Standing {
    pub(super) seq: u64,
    /// The turn under way: the number of its start, how far it was read, and whether its output is over.
    pub(super) turn: Option<(u64, Place, bool)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("'{text}' is not a valid feed position")]
pub struct CursorError {
    text: String,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.seq)?;
        let Some(turn) = &self.turn else { return Ok(()) };
        write!(f, ".{}", turn.started)?;
        for place in [turn.from, turn.at, turn.end] {
            write!(f, ".{}.{}", place.stdout, place.stderr)?;
        }
        write!(f, ".{}.{}", turn.shown, u8::from(turn.finished))
    }
}

impl FromStr for Cursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || CursorError { text: text.chars().take(200).collect() };
        let numbers: Vec<u64> = text.split('.').map(str::parse).collect::<Result<_, _>>().map_err(|_| error())?;
        let place = |stdout, stderr| Place { stdout, stderr };
        match *numbers.as_slice() {
            [seq] => Ok(Self { seq, turn: None }),
            [seq, started, f, g, o, e, p, q, shown, finished @ (0 | 1)] => {
                let turn = TurnCursor {
                    started,
                    from: place(f, g),
                    at: place(o, e),
                    end: place(p, q),
                    shown: usize::try_from(shown).map_err(|_| error())?,
                    finished: finished == 1,
                };
                let ordered = f <= o && o <= p && g <= e && e <= q && started <= seq;
                // A piece is small; a made-up one must not cost memory.
                let small = p - o.min(p) <= MOST_OF_A_PIECE && q - e.min(q) <= MOST_OF_A_PIECE;
                if ordered && small { Ok(Self { seq, turn: Some(turn) }) } else { Err(error()) }
            }
            _ => Err(error()),
        }
    }
}

const MOST_OF_A_PIECE: u64 = 256 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_as_it_was() {
        let place = |stdout, stderr| Place { stdout, stderr };
        let turn =
            TurnCursor { started: 4, from: place(1, 2), at: place(3, 4), end: place(5, 6), shown: 7, finished: true };
        for cursor in [Cursor { seq: 9, turn: None }, Cursor { seq: 9, turn: Some(turn) }] {
            assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }
    }

    #[test]
    fn what_is_no_cursor_is_refused() {
        for text in ["", "x", "1.2", "-1", "1.2.3.4.5.6.7.8.9.2", "9.4.5.0.3.0.4.0.0.0", "9.4.0.0.0.0.9000000.0.0.0"] {
            assert!(text.parse::<Cursor>().is_err(), "{text}");
        }
    }
}
