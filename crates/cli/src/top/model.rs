//! What `windlass top` shows, and what a key means. Pure: no terminal, no clock, no requests; it returns what to ask for.

use std::collections::VecDeque;

use jiff::Timestamp;
use windlass_app::LoopSummary;
use windlass_engine::view::QuestionView;

/// Lines of a feed that are kept.
const MOST_LINES: usize = 2_000;
/// Characters of a typed text.
const LONGEST_TEXT: usize = 4_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Escape,
    Backspace,
    Interrupt,
    Char(char),
}

/// What somebody wants of a loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    Steer { id: String, message: String },
    Pause { id: String },
    Stop { id: String },
    Resume { id: String },
    Approve { id: String },
    Reject { id: String, reason: String },
    Answer { id: String, question: String, text: String },
}

/// What is to be done outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    Quit,
    OpenFeed { id: String },
    CloseFeed,
    DiffStat { id: String },
    Wish(Wish),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Filter,
    Steer,
    Reject,
    Answer,
    Stop,
    Approve,
}

/// What is being typed or confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    pub verb: Verb,
    pub id: String,
    pub name: String,
    pub text: String,
    /// The question that is answered.
    pub question: Option<String>,
    /// What has to be known to decide: the diffstat, or the question.
    pub about: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub text: String,
    pub failed: bool,
}

#[derive(Debug, Default)]
pub struct Model {
    pub rows: Vec<LoopSummary>,
    pub now: Timestamp,
    pub selected: Option<String>,
    pub filter: String,
    /// Loops that have ended are shown too.
    pub ended: bool,
    pub prompt: Option<Prompt>,
    pub message: Option<Message>,
    pub feed: Option<Feed>,
    pub help: bool,
    /// Rows of the list that fit on the screen, as last drawn.
    pub page: usize,
}

#[derive(Debug)]
pub struct Feed {
    pub id: String,
    pub lines: VecDeque<String>,
    /// Lines between the last one and the bottom of the screen; 0 follows.
    pub back: usize,
}

/// Whether a loop needs somebody, in the order of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    NeedsYou,
    Open,
    Ended,
}

pub fn standing(row: &LoopSummary) -> Standing {
    match row.view.status.as_str() {
        "awaiting_review" | "paused" | "interrupted" => Standing::NeedsYou,
        "running" | "waiting" if question(row).is_some() => Standing::NeedsYou,
        "queued" | "running" | "waiting" => Standing::Open,
        _ => Standing::Ended,
    }
}

/// The oldest question that somebody can answer.
pub fn question(row: &LoopSummary) -> Option<&QuestionView> {
    row.view.questions.iter().find(|question| question.open)
}

/// Whether a person can approve or reject the work.
fn awaits_ruling(row: &LoopSummary) -> bool {
    let rejected = row.view.pause.as_ref().is_some_and(|why| why.name() == "rejections");
    row.view.status == "awaiting_review" || (row.view.status == "paused" && rejected)
}

impl Model {
    /// The rows in sight, those that need somebody first, then the newest.
    pub fn shown(&self) -> Vec<&LoopSummary> {
        let words: Vec<String> = self.filter.to_lowercase().split_whitespace().map(str::to_owned).collect();
        let fits = |row: &&LoopSummary| {
            let text = format!("{} {} {} {}", row.view.name, row.view.project, row.view.status, row.view.goal);
            let text = text.to_lowercase();
            words.iter().all(|word| text.contains(word)) && (self.ended || standing(row) != Standing::Ended)
        };
        let mut shown: Vec<&LoopSummary> = self.rows.iter().filter(fits).collect();
        shown.sort_by_key(|row| (standing(row), std::cmp::Reverse(row.view.created_at)));
        shown
    }

    pub fn current(&self) -> Option<&LoopSummary> {
        let id = self.selected.as_deref()?;
        self.rows.iter().find(|row| row.view.id == id)
    }

    /// New rows; the selection stays on its loop.
    pub fn listed(&mut self, rows: Vec<LoopSummary>) {
        let place = self.place();
        self.rows = rows;
        self.select_near(place.unwrap_or(0));
    }

    /// Keeps the selection if it is in sight, else what is at its place.
    fn select_near(&mut self, place: usize) {
        let ids: Vec<String> = self.shown().iter().map(|row| row.view.id.clone()).collect();
        let kept = self.selected.as_ref().is_some_and(|id| ids.contains(id));
        if !kept && self.feed.is_none() {
            self.selected = ids.get(place.min(ids.len().saturating_sub(1))).cloned();
        }
    }

    /// The place of the selected row in the list.
    pub fn place(&self) -> Option<usize> {
        let id = self.selected.as_deref()?;
        self.shown().iter().position(|row| row.view.id == id)
    }

    /// More lines of a loop's feed.
    pub fn fed(&mut self, id: &str, lines: impl IntoIterator<Item = String>) {
        let Some(feed) = self.feed.as_mut().filter(|feed| feed.id == id) else { return };
        for line in lines {
            feed.lines.push_back(line);
            // Who reads further up keeps the same lines in sight.
            feed.back += usize::from(feed.back > 0);
        }
        while feed.lines.len() > MOST_LINES {
            feed.lines.pop_front();
        }
        feed.back = feed.back.min(feed.lines.len());
    }

    /// What a loop changed, shown before it is approved or rejected.
    pub fn diffstat(&mut self, id: &str, lines: Vec<String>) {
        if let Some(prompt) = self.prompt.as_mut().filter(|prompt| prompt.id == id) {
            prompt.about = lines;
        }
    }

    pub fn say(&mut self, text: impl Into<String>, failed: bool) {
        self.message = Some(Message { text: text.into(), failed });
    }

    pub fn pasted(&mut self, text: &str) {
        if let Some(prompt) = &mut self.prompt {
            prompt.add(text);
        }
    }

    pub fn key(&mut self, key: Key) -> Vec<Ask> {
        self.message = None;
        if key == Key::Interrupt {
            return vec![Ask::Quit];
        }
        if std::mem::take(&mut self.help) {
            return Vec::new();
        }
        if self.prompt.is_some() {
            return self.typed(key);
        }
        if self.feed.is_some() {
            return self.in_feed(key);
        }
        self.in_list(key)
    }

    fn in_list(&mut self, key: Key) -> Vec<Ask> {
        let page = isize::try_from(self.page.max(1)).unwrap_or(1);
        match key {
            Key::Up | Key::Char('k') => self.go(-1),
            Key::Down | Key::Char('j') => self.go(1),
            Key::PageUp => self.go(-page),
            Key::PageDown => self.go(page),
            Key::Home | Key::Char('g') => self.go(isize::MIN / 2),
            Key::End | Key::Char('G') => self.go(isize::MAX / 2),
            Key::Enter => {
                let Some(id) = self.selected.clone().filter(|_| self.current().is_some()) else { return Vec::new() };
                self.feed = Some(Feed { id: id.clone(), lines: VecDeque::new(), back: 0 });
                return vec![Ask::OpenFeed { id }];
            }
            Key::Char('/') => self.ask_text(Verb::Filter),
            Key::Char('e') => {
                self.ended = !self.ended;
                self.select_near(0);
            }
            Key::Escape if !self.filter.is_empty() => {
                self.filter.clear();
                self.select_near(0);
            }
            Key::Char('q') => return vec![Ask::Quit],
            Key::Escape | Key::Backspace | Key::Interrupt | Key::Char(_) => return self.verb(key),
        }
        Vec::new()
    }

    fn in_feed(&mut self, key: Key) -> Vec<Ask> {
        let page = self.page.max(1);
        let Some(feed) = &mut self.feed else { return Vec::new() };
        let most = feed.lines.len();
        match key {
            Key::Up | Key::Char('k') => feed.back = (feed.back + 1).min(most),
            Key::Down | Key::Char('j') => feed.back = feed.back.saturating_sub(1),
            Key::PageUp => feed.back = (feed.back + page).min(most),
            Key::PageDown => feed.back = feed.back.saturating_sub(page),
            Key::Home | Key::Char('g') => feed.back = most,
            Key::End | Key::Char('G') => feed.back = 0,
            Key::Escape | Key::Enter | Key::Backspace | Key::Char('q') => {
                self.feed = None;
                self.select_near(0);
                return vec![Ask::CloseFeed];
            }
            Key::Interrupt | Key::Char(_) => return self.verb(key),
        }
        Vec::new()
    }

    /// Keys that are about the selected loop, in the list and in its feed.
    fn verb(&mut self, key: Key) -> Vec<Ask> {
        let Key::Char(letter) = key else { return Vec::new() };
        if letter == '?' {
            self.help = true;
            return Vec::new();
        }
        let Some(row) = self.current() else { return Vec::new() };
        let (id, rules, asks) = (row.view.id.clone(), awaits_ruling(row), question(row).is_some());
        match letter {
            'm' => self.ask_text(Verb::Steer),
            's' => self.ask_text(Verb::Stop),
            'p' => return vec![Ask::Wish(Wish::Pause { id })],
            'r' => return vec![Ask::Wish(Wish::Resume { id })],
            'w' if asks => self.ask_text(Verb::Answer),
            'w' => self.say("no question is open", true),
            'a' | 'x' if !rules => self.say("nothing is waiting for approval", true),
            'a' | 'x' => {
                self.ask_text(if letter == 'a' { Verb::Approve } else { Verb::Reject });
                return vec![Ask::DiffStat { id }];
            }
            _ => {}
        }
        Vec::new()
    }

    fn ask_text(&mut self, verb: Verb) {
        let row = self.current();
        let (id, name) = row.map(|row| (row.view.id.clone(), row.view.name.clone())).unwrap_or_default();
        let asked = row.and_then(question).filter(|_| verb == Verb::Answer);
        let mut about = Vec::new();
        if let Some(asked) = asked {
            about.push(asked.question.clone());
            about.push(match &asked.default {
                Some(default) => format!("Default if nobody answers: {default}"),
                None => "No default: the agent decides if nobody answers".to_owned(),
            });
        }
        let question = asked.map(|asked| asked.id.clone());
        let text = if verb == Verb::Filter { self.filter.clone() } else { String::new() };
        self.prompt = Some(Prompt { verb, id, name, text, question, about });
    }

    fn typed(&mut self, key: Key) -> Vec<Ask> {
        let Some(mut prompt) = self.prompt.take() else { return Vec::new() };
        let confirms = matches!(prompt.verb, Verb::Stop | Verb::Approve);
        match key {
            Key::Escape => {
                if prompt.verb == Verb::Filter {
                    self.filter.clear();
                    self.select_near(0);
                }
                return Vec::new();
            }
            Key::Char('y') | Key::Enter if confirms => return self.finish(prompt),
            Key::Char(_) if confirms => return Vec::new(),
            Key::Enter => return self.finish(prompt),
            Key::Backspace => drop(prompt.text.pop()),
            Key::Char(letter) => prompt.add(&letter.to_string()),
            Key::Up | Key::Down | Key::PageUp | Key::PageDown | Key::Home | Key::End | Key::Interrupt => {}
        }
        if prompt.verb == Verb::Filter {
            self.filter.clone_from(&prompt.text);
            self.select_near(0);
        }
        self.prompt = Some(prompt);
        Vec::new()
    }

    fn finish(&mut self, prompt: Prompt) -> Vec<Ask> {
        let Prompt { verb, id, text, question, .. } = prompt;
        let text = text.trim().to_owned();
        let needs_text = matches!(verb, Verb::Steer | Verb::Reject | Verb::Answer);
        if needs_text && text.is_empty() {
            self.say("nothing sent: the text is empty", true);
            return Vec::new();
        }
        let wish = match verb {
            Verb::Filter => return Vec::new(),
            Verb::Steer => Wish::Steer { id, message: text },
            Verb::Reject => Wish::Reject { id, reason: text },
            Verb::Answer => Wish::Answer { id, question: question.unwrap_or_default(), text },
            Verb::Stop => Wish::Stop { id },
            Verb::Approve => Wish::Approve { id },
        };
        vec![Ask::Wish(wish)]
    }

    fn go(&mut self, by: isize) {
        let shown = self.shown();
        let Some(last) = shown.len().checked_sub(1) else { return };
        let place = self.place().unwrap_or(0).saturating_add_signed(by).min(last);
        self.selected = Some(shown[place].view.id.clone());
    }
}

impl Prompt {
    fn add(&mut self, text: &str) {
        let room = LONGEST_TEXT.saturating_sub(self.text.chars().count());
        self.text.extend(text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(room));
    }
}
