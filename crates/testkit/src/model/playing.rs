//! From a request to what it is answered, by the script.
//!
//! Invariant: only what no transcript can tell is remembered here: failures so far per step, and turns started.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::asked::Asked;
use super::failure::Failure;
use super::gates::Gates;
use super::reply::{Part, Reply};
use super::script::{Piece, Script, Select, Step, Usage};
use super::tools;

/// What a request gets.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Answer {
    /// Whatever has no tools is not a step of the agent's work: a title, a summary.
    Apart(Reply),
    ApartFail(Failure),
    Reply {
        hold: Option<String>,
        reply: Reply,
    },
    Fail {
        hold: Option<String>,
        failure: Failure,
    },
}

/// A request's place in the script, and its answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Played {
    pub(super) turn: usize,
    pub(super) step: usize,
    pub(super) answer: Answer,
}

#[derive(Debug)]
pub(super) struct Player {
    memory: Mutex<Memory>,
}

#[derive(Debug)]
struct Memory {
    script: Arc<Script>,
    /// By turn and step.
    failed: BTreeMap<(usize, usize), u32>,
    started: usize,
    /// The prompts of the turn that was started last.
    prompts: Vec<String>,
    /// Whether that turn was answered to its end.
    ended: bool,
}

impl Memory {
    fn of(script: Script) -> Memory {
        let script = Arc::new(script);
        Memory { script, failed: BTreeMap::new(), started: 0, prompts: Vec::new(), ended: false }
    }
}

impl Player {
    pub(super) fn new(script: Script) -> Player {
        Player { memory: Mutex::new(Memory::of(script)) }
    }

    /// From here on another script is played, with nothing remembered.
    pub(super) fn change(&self, script: Script) {
        *self.lock() = Memory::of(script);
    }

    pub(super) fn play(&self, asked: &Asked, gates: &Gates) -> Played {
        let script = Arc::clone(&self.lock().script);
        if asked.tools.is_empty() && !asked.by_words {
            let usage = Usage { input: 100, cached: 0, output: 5, thinking: 0 };
            let answer = match &script.apart_fail {
                Some(failure) => Answer::ApartFail(failure.clone()),
                None => Answer::Apart(Reply::text(&script.apart, usage)),
            };
            return Played { turn: 0, step: 0, answer };
        }
        if asked.by_words {
            return self.play_at_once(&script, asked, gates);
        }
        let number = self.number(script.select, asked);
        let pick = script.pick(&asked.model, asked.prompt(), number, asked.step);
        let (turn, step) = (pick.turn, pick.step);
        let Some(play) = pick.play else {
            let reply = Reply::text("The script has no more steps.", Usage::default());
            return Played { turn, step, answer: Answer::Reply { hold: None, reply } };
        };
        let hold = play.hold.clone();
        let faulty = (play.fail.is_some() || play.cut) && self.fails_now(play, (turn, step), gates);
        let answer = match &play.fail {
            Some(failure) if faulty => Answer::Fail { hold, failure: failure.clone() },
            _ => Answer::Reply { hold, reply: Reply { cut: faulty, ..reply(asked, play) } },
        };
        Played { turn, step, answer }
    }

    /// All steps of the turn in one answer, up to the first that fails.
    fn play_at_once(&self, script: &Script, asked: &Asked, gates: &Gates) -> Played {
        let number = self.number(script.select, asked);
        let turn = script.pick(&asked.model, asked.prompt(), number, 0).turn;
        let steps = script.turns.get(turn).map(|of| of.steps.as_slice()).unwrap_or_default();
        let mut all =
            Reply { parts: Vec::new(), usage: Usage { input: 0, cached: 0, output: 0, thinking: 0 }, cut: false };
        let mut hold = None;
        for (step, play) in steps.iter().enumerate() {
            hold = hold.or_else(|| play.hold.clone());
            let faulty = (play.fail.is_some() || play.cut) && self.fails_now(play, (turn, step), gates);
            if let (Some(failure), true) = (&play.fail, faulty) {
                return Played { turn, step, answer: Answer::Fail { hold, failure: failure.clone() } };
            }
            if step > 0 {
                all.parts.push(Part::Text("\n".to_owned()));
            }
            let Reply { parts, usage, .. } = said(asked, play);
            all.parts.extend(parts);
            all.usage = Usage {
                input: all.usage.input + usage.input,
                cached: all.usage.cached + usage.cached,
                output: all.usage.output + usage.output,
                thinking: all.usage.thinking + usage.thinking,
            };
            if faulty {
                all.cut = true;
                break;
            }
        }
        Played { turn, step: 0, answer: Answer::Reply { hold, reply: all } }
    }

    /// An answer went out whole.
    pub(super) fn delivered(&self, answer: &Answer) {
        if let Answer::Reply { reply, .. } = answer
            && !reply.has_calls()
            && !reply.cut
        {
            self.lock().ended = true;
        }
    }

    fn number(&self, select: Select, asked: &Asked) -> usize {
        match select {
            Select::Prompts => asked.prompts.len(),
            Select::Starts => {
                let mut memory = self.lock();
                let starts = memory.started == 0 || memory.prompts != asked.prompts || memory.ended;
                if asked.step == 0 && starts {
                    memory.started += 1;
                    memory.prompts.clone_from(&asked.prompts);
                    memory.ended = false;
                }
                memory.started
            }
        }
    }

    fn fails_now(&self, step: &Step, place: (usize, usize), gates: &Gates) -> bool {
        if let Some(gate) = &step.until {
            return !gates.is_open(gate);
        }
        let mut memory = self.lock();
        let failed = memory.failed.entry(place).or_default();
        let fails = step.times.is_none_or(|times| *failed < times);
        *failed += u32::from(fails);
        fails
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A step of an agent that writes files from what is said and runs nothing.
fn said(asked: &Asked, step: &Step) -> Reply {
    let words_only = Step { shell: None, write: None, tool: None, ..step.clone() };
    let mut reply = reply(asked, &words_only);
    let file = step.write.clone().or_else(|| step.shell.as_deref().and_then(tools::written_by));
    if let Some(file) = file {
        reply.parts.push(Part::Text(tools::listing(&file)));
    } else if let Some(command) = &step.shell {
        reply.parts.push(Part::Text(format!("\n\nSomebody should run `{command}`.\n\n")));
    }
    reply
}

fn reply(asked: &Asked, step: &Step) -> Reply {
    let mut parts: Vec<Part> = step.think.iter().map(|t| Part::Think(t.clone())).collect();
    parts.extend(step.say.iter().map(|piece| match piece {
        Piece::Text(text) => Part::Text(text.clone()),
        Piece::Gate { gate } => Part::Gate(gate.clone()),
    }));
    let wanted = [
        step.shell.as_ref().map(|command| tools::shell(asked, command)),
        step.write.as_ref().map(|file| tools::write(asked, file)),
        step.tool.as_ref().map(|call| tools::raw(asked, call)),
    ];
    for call in wanted.into_iter().flatten() {
        parts.push(call.map_or_else(|| no_such_tool(asked), Part::Call));
    }
    Reply { parts, usage: step.usage.unwrap_or_default(), cut: false }
}

/// Said aloud, so that it stands in the transcript of the test that requested too much.
fn no_such_tool(asked: &Asked) -> Part {
    let names: Vec<&str> = asked.tools.iter().map(|t| t.name.as_str()).collect();
    Part::Text(format!("(The script wants a tool that this request does not offer: {})", names.join(", ")))
}
