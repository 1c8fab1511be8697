//! The terminal while `windlass top` has it, and how it was before.

use std::io::{self, IsTerminal, Stdout};
use std::sync::Once;
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{
    self, DisableBracketedPaste, EnableBracketedPaste, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers,
};
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::crossterm::{cursor, execute};
use tokio::sync::mpsc;

use super::model::{Key, Model};
use crate::failure::Failure;

/// What comes from the terminal.
#[derive(Debug)]
pub enum Typed {
    Key(Key),
    Pasted(String),
    Resized,
    /// The terminal is gone.
    Gone,
}

/// Gives the terminal back when it is dropped, and before a panic is printed.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    pub fn open() -> Result<Self, Failure> {
        if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
            return Err(Failure::usage("`windlass top` needs a terminal".to_owned(), "use `windlass list` instead"));
        }
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                give_back();
                before(panic);
            }));
        });
        enable_raw_mode()?;
        // From here on it is given back, also if the rest fails.
        let screen = Self { terminal: Terminal::new(CrosstermBackend::new(io::stdout()))? };
        execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste, cursor::Hide)?;
        // Watches the terminal's size before the first frame; a change before that would never be drawn.
        event::poll(Duration::ZERO)?;
        Ok(screen)
    }

    pub fn draw(&mut self, model: &mut Model) -> Result<(), Failure> {
        self.terminal.draw(|frame| super::draw::draw(frame, model))?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn give_back() {
    let _ = execute!(io::stdout(), DisableBracketedPaste, LeaveAlternateScreen, cursor::Show);
    let _ = disable_raw_mode();
}

/// Reads the terminal on a thread, which ends with the process.
pub fn keys() -> mpsc::UnboundedReceiver<Typed> {
    let (tell, told) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        loop {
            let typed = match event::read() {
                Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => key_of(key).map(Typed::Key),
                Ok(Event::Paste(text)) => Some(Typed::Pasted(text)),
                Ok(Event::Resize(..)) => Some(Typed::Resized),
                Ok(Event::Key(_) | Event::FocusGained | Event::FocusLost | Event::Mouse(_)) => None,
                Err(_) => Some(Typed::Gone),
            };
            let gone = matches!(typed, Some(Typed::Gone));
            if typed.is_some_and(|typed| tell.send(typed).is_err()) || gone {
                return;
            }
        }
    });
    told
}

fn key_of(key: KeyEvent) -> Option<Key> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    #[allow(clippy::wildcard_enum_match_arm, reason = "the keys of a terminal, of which few mean something")]
    Some(match key.code {
        KeyCode::Char('c') if control => Key::Interrupt,
        KeyCode::Char(_) if control || key.modifiers.contains(KeyModifiers::ALT) => return None,
        KeyCode::Char(letter) => Key::Char(letter),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        _ => return None,
    })
}
