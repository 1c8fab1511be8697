//! `windlass minimise`.

use std::fmt::Write as _;
use std::io::IsTerminal;

use serde::Serialize;
use windlass_app::words::count;
use windlass_app::{App, DroppedHunk, MinimiseLoop, MinimiseReport, MinimiseStep, MinimiseSteps, StepsReport, Why};
use windlass_core::duration::human;
use windlass_engine::view::LoopView;

use crate::args::MinimiseArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::style::{Style, json_line, one_line, short};
use crate::terminal::print;

/// Dropped hunks that are named.
const NAMED: usize = 40;

pub async fn minimise(app: &App, args: &MinimiseArgs) -> Result<Exit, Failure> {
    let LoopView { id, name, .. } = app.find(args.name.get()).await?;
    let mut steps = Steps { app, id: id.clone(), seen: 0, known: true, shown: Shown::new(args.json) };
    // What earlier calls did is not shown again.
    steps.seen = steps.ask(false).await.last;
    if !args.json {
        eprintln!("{name}: running the gates on smaller and smaller parts of the work");
    }
    let request = MinimiseLoop { id, max_runs: args.max_runs, duration_ms: Some(args.duration.get()), take: args.take };
    let report = {
        let mut report = std::pin::pin!(app.run(request));
        loop {
            tokio::select! {
                report = &mut report => break report,
                more = steps.ask(true), if steps.known => steps.show(&more),
            }
        }
    };
    let rest = steps.ask(false).await;
    steps.show(&rest);
    steps.shown.end();
    let report = report?;
    print(&if args.json { json_line(&Last { kind: "report", report: &report }) } else { shown(&report) });
    Ok(Exit::Completed)
}

/// The last line of JSON.
#[derive(Serialize)]
struct Last<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(flatten)]
    report: &'a MinimiseReport,
}

/// The steps of the search, as they are recorded.
struct Steps<'a> {
    app: &'a App,
    id: String,
    seen: usize,
    /// A server of an earlier version does not know them.
    known: bool,
    shown: Shown,
}

impl Steps<'_> {
    async fn ask(&mut self, wait: bool) -> StepsReport {
        if !self.known {
            return StepsReport::default();
        }
        let more = self.app.run(MinimiseSteps { id: self.id.clone(), after: self.seen, wait }).await;
        self.known = more.is_ok();
        more.unwrap_or_default()
    }

    fn show(&mut self, more: &StepsReport) {
        self.seen = self.seen.max(more.last);
        more.steps.iter().for_each(|step| self.shown.step(step));
    }
}

/// Where steps are shown: a line for each on standard error, or as JSON on standard output.
struct Shown {
    json: bool,
    /// The run under way is shown without a newline.
    live: bool,
    open: bool,
    style: Style,
    of: usize,
}

impl Shown {
    fn new(json: bool) -> Self {
        let live = !json && std::io::stderr().is_terminal();
        Self { json, live, open: false, style: Style::for_stdout(), of: 0 }
    }

    fn step(&mut self, step: &MinimiseStep) {
        if self.json {
            return print(&json_line(step));
        }
        match *step {
            MinimiseStep::Started { hunks, known } => {
                self.of = hunks;
                let before = if known > 0 { format!("; {known} candidates are judged already") } else { String::new() };
                eprintln!("  the work has {}{before}", count(u32::try_from(hunks).unwrap_or(u32::MAX), "hunk"));
            }
            MinimiseStep::Judging { run, why, hunks } => {
                if self.live {
                    eprint!("  {} …", self.words(run, why, hunks));
                    self.open = true;
                }
            }
            MinimiseStep::Judged { run, why, hunks, passed, smallest, duration_ms } => {
                let verdict = if passed { self.style.good("✓ passed") } else { self.style.bad("✗ failed") };
                let words = self.words(run, why, hunks);
                let took = human(duration_ms);
                self.clear();
                eprintln!("  {words}  {verdict} in {took}; smallest so far: {smallest} of {}", self.of);
            }
        }
    }

    fn words(&self, run: u32, why: Why, hunks: usize) -> String {
        let why = match why {
            Why::Whole => "the whole work",
            Why::Smaller => "a smaller part",
            Why::Confirm => "the smallest part again",
        };
        format!("run {run}: {why}, {hunks} of {} hunks", self.of)
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.open) {
            eprint!("\r\x1b[K");
        }
    }

    /// A run that was cut off leaves no half line.
    fn end(&mut self) {
        self.clear();
    }
}

fn shown(report: &MinimiseReport) -> String {
    let mut text = String::new();
    let name = &report.name;
    let runs = count(report.runs, "run");
    let hunks = count(u32::try_from(report.hunks).unwrap_or(u32::MAX), "hunk");
    if report.gates_need_nothing {
        let _ = writeln!(text, "{name}: the gates pass without any of its {hunks}, so they do not check it ({runs})");
        return text;
    }
    let _ = match &report.commit {
        None if report.complete => writeln!(text, "{name}: the gates need all of its {hunks} ({runs})"),
        None => writeln!(text, "{name}: nothing found that can be dropped yet ({runs})"),
        Some(commit) => writeln!(
            text,
            "{name}: the gates pass with {} of {} hunks ({runs})\n  commit   {}\n  branch   {}\n  dropped",
            report.kept,
            report.hunks,
            short(commit),
            report.branch.as_deref().unwrap_or_default()
        ),
    };
    if report.commit.is_some() {
        for hunk in report.dropped.iter().take(NAMED) {
            let _ = writeln!(text, "    {}", line(hunk));
        }
        if report.dropped.len() > NAMED {
            let _ = writeln!(text, "    and {} more; --json lists all", report.dropped.len() - NAMED);
        }
    }
    if !report.complete {
        let _ = writeln!(text, "  resume   windlass minimise {name}");
    }
    if let Some(taken) = &report.taken {
        let _ = writeln!(text, "  taken    the loop's branch is at {} now: windlass merge {name}", short(taken));
    }
    if let Some(branch) = &report.branch {
        let _ = writeln!(text, "  review   git diff {branch} {}", short(&report.head));
    }
    text
}

fn line(hunk: &DroppedHunk) -> String {
    let path = one_line(&hunk.path, 120);
    match (hunk.line, &hunk.from) {
        (Some(line), _) => format!("{path}:{line}  +{} -{}", hunk.lines_added, hunk.lines_removed),
        (None, Some(from)) => format!("{path}  renamed from {}", one_line(from, 120)),
        (None, None) => format!("{path}  {}", hunk.kind),
    }
}
