//! `windlass queue`: goals are added, listed, moved, removed and worked off.

use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use windlass_app::{
    AddGoal, AddGoals, AddedGoals, App, IssueOf, Kind, ListQueue, Local, MoveGoal, OpenedQueue, Problem, RemoveGoal,
    Request, StartLoop,
};
use windlass_core::group::queue::{Why, goals_in};
use windlass_engine::driver::Left;
use windlass_engine::engine::Engine;
use windlass_engine::groups::{GoalView, QueueKind, QueueView};

use super::events;
use crate::args::{GoalSource, QueueAddArgs, QueueArgs, QueueCommand, QueueMoveArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::given::{project, read_goal};
use crate::project::offered_gates;
use crate::style::{Style, json_line, one_line};
use crate::terminal::{print, watch_signals};
use crate::{here, trust};

pub async fn queue(app: &App, dir: Option<&Path>, args: &QueueArgs) -> Result<Exit, Failure> {
    match &args.command {
        QueueCommand::Add(args) => add(app, dir, args).await,
        QueueCommand::List { json } => show(&app.run(ListQueue::default()).await?, *json),
        QueueCommand::Move(args) => moved(app, args).await,
        QueueCommand::Remove { id, json } => {
            let view = app.run(RemoveGoal { id: id.clone() }).await?;
            print(&if *json { json_line(&view) } else { format!("removed goal {id}\n") });
            Ok(Exit::Completed)
        }
        QueueCommand::Start { merge, json } => start(here(app, "queue start")?, merge.then_some(true), *json).await,
    }
}

async fn add(app: &App, dir: Option<&Path>, args: &QueueAddArgs) -> Result<Exit, Failure> {
    let project = project(app, dir)?;
    let texts = texts(app, &project, args).await?;
    if args.name.is_some() && texts.len() != 1 {
        let message = format!("--name is for one goal, and there are {}", texts.len());
        return Err(Failure::usage(message, "remove --name, or add the goals one by one"));
    }
    let mut settings = args.options().to_json();
    if !args.json && !args.has_gates() {
        for (key, value) in offered_gates(app, &project).await? {
            settings.entry(key).or_insert(value);
        }
    }
    let goals = texts.into_iter().map(|goal| AddGoal {
        run: StartLoop {
            project: project.clone(),
            goal,
            name: args.name.clone(),
            settings: settings.clone(),
            agent_command: args.agent_command.clone(),
            base: args.base.clone(),
            ..StartLoop::default()
        },
        after: args.after.clone(),
    });
    let mut request = AddGoals { goals: goals.collect(), in_order: args.in_order };
    let mut added = app.run(request.clone()).await;
    if let (Err(problem), App::Here(local)) = (&added, app)
        && problem.asks_for_no_sandbox()
        && trust::do_without_sandbox(local, problem).await?
    {
        added = app.run(request.clone()).await;
    }
    let added = match added {
        Ok(added) => added,
        Err(problem) if problem.code == Kind::TrustNeeded => {
            let seen = trust::word(app, problem, args.trust, args.base.as_deref())?;
            request.goals.iter_mut().for_each(|goal| goal.run.trust = Some(seen.clone()));
            app.run(request).await?
        }
        Err(problem) => return Err(problem.into()),
    };
    print(&if args.json { json_line(&added) } else { added_words(&added) });
    Ok(Exit::Completed)
}

/// The goals, from wherever they come.
async fn texts(app: &App, project: &str, args: &QueueAddArgs) -> Result<Vec<String>, Failure> {
    let mut texts = args.goals.clone();
    for issue in &args.issues {
        texts.push(app.run(IssueOf { project: project.to_owned(), issue: issue.clone() }).await?.goal());
    }
    if let Some(path) = &args.file {
        let source = match path.as_os_str() == "-" {
            true => GoalSource::Stdin,
            false => GoalSource::File(path.clone()),
        };
        texts = goals_in(&read_goal(app, &source)?);
        if texts.is_empty() {
            let hint = "write one goal per line, or a Markdown list such as `- [ ] fix the login`";
            return Err(Failure::usage(format!("no open goals in {source}"), hint));
        }
    }
    Ok(texts)
}

fn added_words(added: &AddedGoals) -> String {
    let style = Style::for_stdout();
    let mut text = String::new();
    for goal in &added.goals {
        text.push_str(&format!("added goal {}: {}\n", goal.number, one_line(&goal.goal, 100)));
    }
    for note in &added.notes {
        text.push_str(&style.field("note", 5, note));
    }
    if !added.driven {
        text.push_str(&style.field("start", 5, "windlass queue start"));
    }
    text
}

async fn moved(app: &App, args: &QueueMoveArgs) -> Result<Exit, Failure> {
    let request = MoveGoal { id: args.id.clone(), before: args.before.clone(), first: args.first, last: args.last };
    show(&app.run(request).await?, args.json)
}

fn show(view: &QueueView, json: bool) -> Result<Exit, Failure> {
    print(&if json { json_line(view) } else { table(view, Style::for_stdout()) });
    Ok(Exit::Completed)
}

/// The goals in their order, with what each one waits for.
fn table(view: &QueueView, style: Style) -> String {
    if view.goals.is_empty() {
        return "the queue is empty; add a goal with `windlass queue add`\n".to_owned();
    }
    let heads = ["#", "status", "project", "agent", "goal"].map(str::to_owned);
    let cells: Vec<[String; 5]> = view.goals.iter().map(cells).collect();
    let widths: [usize; 4] =
        std::array::from_fn(|at| cells.iter().chain([&heads]).map(|row| row[at].chars().count()).max().unwrap_or(0));
    let line = |row: &[String; 5], status: String| {
        let padding = " ".repeat(widths[1].saturating_sub(row[1].chars().count()));
        let (number, project, agent) = (&row[0], &row[2], &row[3]);
        let [first, _, third, fourth] = widths;
        format!("{number:>first$}  {status}{padding}  {project:<third$}  {agent:<fourth$}  {}\n", row[4])
    };
    let mut text = style.dim(&line(&heads, heads[1].clone()));
    for (goal, row) in view.goals.iter().zip(&cells) {
        text.push_str(&line(row, painted(goal, &row[1], style)));
        if let Some(why) = why(goal, view.driven) {
            text.push_str(&format!("{}{}\n", " ".repeat(widths[0] + 2), style.dim(&one_line(&why, 200))));
        }
    }
    if !view.driven && view.goals.iter().any(|goal| !is_over(goal)) {
        text.push_str(&style.field("start", 5, "windlass queue start"));
    }
    text
}

fn cells(goal: &GoalView) -> [String; 5] {
    let project =
        Path::new(&goal.project).file_name().map_or(goal.project.clone(), |name| name.to_string_lossy().into_owned());
    [goal.number.to_string(), word(goal), project, goal.account.clone(), one_line(&goal.goal, 80)]
}

fn word(goal: &GoalView) -> String {
    match goal.status.as_str() {
        "completed" if goal.merged => "merged".to_owned(),
        "completed" if goal.verified => "verified".to_owned(),
        "completed" => "completed, not verified".to_owned(),
        word => word.replace('_', " "),
    }
}

fn painted(goal: &GoalView, word: &str, style: Style) -> String {
    match goal.status.as_str() {
        "rate_limited" => style.warn(word),
        "completed" if goal.failed.is_some() => style.warn(word),
        status => style.painted_as(status, word),
    }
}

fn is_over(goal: &GoalView) -> bool {
    matches!(goal.status.as_str(), "completed" | "exhausted" | "cancelled" | "stalled" | "errored")
}

/// What a goal waits for, if it waits.
fn why(goal: &GoalView, driven: bool) -> Option<String> {
    if let Some(failed) = &goal.failed {
        return Some(failed.clone());
    }
    let name = goal.name.as_deref().unwrap_or_default();
    match (&goal.why, goal.status.as_str()) {
        (Some(why), _) => Some(words(why)),
        (None, "paused" | "awaiting_review") => Some(format!("needs you: windlass status {name}")),
        (None, "waiting") if driven => Some("starts next".to_owned()),
        (None, _) => None,
    }
}

fn words(why: &Why) -> String {
    let minute = |at: &Timestamp| {
        let (at, now) = (at.to_zoned(TimeZone::system()), Timestamp::now().to_zoned(TimeZone::system()));
        at.strftime(if at.date() == now.date() { "%H:%M" } else { "%Y-%m-%d %H:%M" }).to_string()
    };
    match why {
        Why::Blocked { number } => format!("blocked: goal {number} ended without being verified"),
        Why::Unmerged { number } => format!("blocked: goal {number} could not be merged"),
        Why::After { numbers } => {
            let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
            format!("waits for {}", numbers.join(", "))
        }
        Why::AccountLimited { account, until } => format!("account {account} is at its limit until {}", minute(until)),
        Why::AccountUsedUp { account, until } => {
            format!("the rest of account {account} is kept for you until {}", minute(until))
        }
        Why::Account { account, running, most } => format!("account {account} has {running} of {most} goals running"),
        Why::Project { running, most } => format!("project has {running} of {most} goals running"),
        Why::Machine { running, most } => format!("{running} of {most} loops are running"),
    }
}

/// Works the queue off and shows how its goals go.
async fn start(local: &Local, merge: Option<bool>, json: bool) -> Result<Exit, Failure> {
    let Some(OpenedQueue { engine, kind, held }) = local.open_queue(false, merge).await? else {
        return show(&ListQueue::default().perform(local).await?, json);
    };
    let (signals, shutdown) = watch_signals()?;
    let mut shown = Shown { json, seq: held.seq, lines: Vec::new(), until: Vec::new(), style: Style::for_stdout() };
    let driving = engine.drive_group(kind, held, shutdown)?;
    let mut news = driving.news.clone();
    let ended = driving.ended();
    tokio::pin!(ended);
    let left = loop {
        shown.show(local, &engine).await?;
        tokio::select! {
            left = &mut ended => break left?,
            changed = news.changed() => if changed.is_err() { break (&mut ended).await? },
        }
    };
    shown.show(local, &engine).await?;
    let view = ListQueue::default().perform(local).await?;
    print(&match json {
        true => json_line(&serde_json::json!({ "type": "queue", "queue": view })),
        false => summary(&view),
    });
    let told = *signals.borrow();
    Ok(match (left, told) {
        (Left::ShutDown, Some(signal)) => Exit::Signal(signal),
        (Left::ShutDown | Left::Settled, _) => exit(&view),
    })
}

fn exit(view: &QueueView) -> Exit {
    let needs_person = |goal: &GoalView| matches!(goal.status.as_str(), "paused" | "awaiting_review");
    if view.goals.iter().any(needs_person) {
        Exit::NeedsPerson
    } else if view.goals.iter().all(|goal| goal.status == "completed" && goal.failed.is_none()) {
        Exit::Completed
    } else {
        Exit::Errored
    }
}

fn summary(view: &QueueView) -> String {
    if view.goals.is_empty() {
        return table(view, Style::for_stdout());
    }
    let verified = view.goals.iter().filter(|goal| goal.verified).count();
    let rest = view.goals.iter().filter(|goal| !goal.verified || goal.failed.is_some());
    let mut text = format!("{verified} of {} goals verified\n", view.goals.len());
    for goal in rest {
        let why = why(goal, false).map_or(String::new(), |why| format!(": {}", one_line(&why, 160)));
        text.push_str(&format!("  {}  {}{why}\n", goal.number, word(goal)));
    }
    text
}

/// What was printed so far.
struct Shown {
    json: bool,
    seq: u64,
    lines: Vec<(u32, String)>,
    /// Why goals wait for a time.
    until: Vec<String>,
    style: Style,
}

impl Shown {
    async fn show(&mut self, local: &Local, engine: &Engine) -> Result<(), Problem> {
        if self.json {
            return events::print_new(engine, &QueueKind::id().0, &mut self.seq).await;
        }
        for goal in ListQueue::default().perform(local).await?.goals {
            // What waits is not worth a line before it starts, but until when an account is left alone is.
            if matches!(goal.status.as_str(), "waiting" | "blocked") {
                self.say_until(&goal);
                continue;
            }
            let now = match why(&goal, true) {
                Some(why) => format!("{}: {}", word(&goal), one_line(&why, 160)),
                None => word(&goal),
            };
            match self.lines.iter_mut().find(|(number, _)| *number == goal.number) {
                Some((_, line)) if *line == now => continue,
                Some((_, line)) => line.clone_from(&now),
                None => self.lines.push((goal.number, now.clone())),
            }
            let name = goal.name.as_deref().unwrap_or(&goal.goal);
            print(&self.style.field(&format!("{:>3}", goal.number), 3, &format!("{} · {now}", one_line(name, 60))));
        }
        Ok(())
    }

    /// Once for each account and time, not for each of its goals.
    fn say_until(&mut self, goal: &GoalView) {
        let Some(Why::AccountLimited { .. } | Why::AccountUsedUp { .. }) = &goal.why else { return };
        if let Some(why) = why(goal, true).filter(|why| !self.until.contains(why)) {
            print(&self.style.field("", 3, &format!("waiting: {}", one_line(&why, 160))));
            self.until.push(why);
        }
    }
}
