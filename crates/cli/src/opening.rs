//! Opens a loop and follows it: the part that every command which starts or resumes one has in common.

use windlass_app::{App, Kind, Local, Opened, Opens, Problem, ShowLoop, Until, agents};
use windlass_core::ids::LoopId;
use windlass_core::stop::{Status, StopReason};
use windlass_engine::feed::News;
use windlass_engine::journal;
use windlass_engine::trust::Seen;

use crate::args::Watching;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::follow::Follower;
use crate::style::{Style, json_line};
use crate::terminal::{print, watch_signals};
use crate::{status, trust};

/// Makes a loop and watches it. Where nobody has agreed yet to what the repository's own files run, whoever sits at the
/// terminal is asked, and the request is made again with that word; the same where this machine has no sandbox.
pub async fn start<R: Opens + Clone>(
    app: &App,
    request: R,
    trusting: impl Fn(Vec<Seen>) -> R,
    (agreed, base): (bool, Option<&str>),
    watching: Watching,
) -> Result<Exit, Failure> {
    let mut opened = open(app, request.clone(), None, watching).await;
    if let (Err(problem), App::Here(local)) = (&opened, app)
        && problem.asks_for_no_sandbox()
        && trust::do_without_sandbox(local, problem).await?
    {
        opened = open(app, request, None, watching).await;
    }
    let needed = match opened {
        Ok(exit) => return Ok(exit),
        Err(problem) if problem.code == Kind::TrustNeeded => problem,
        Err(problem) => return Err(problem.into()),
    };
    let seen = trust::word(app, needed, agreed, base)?;
    Ok(open(app, trusting(seen), None, watching).await?)
}

/// Opens a loop and watches it: driven by this process, by one in the background, or by a server.
pub async fn open<R: Opens>(app: &App, request: R, known: Option<&str>, watching: Watching) -> Result<Exit, Problem> {
    match app {
        App::Here(local) => go(local, request.open(local).await?, watching).await,
        App::There(_) => open_there(app, request, known, watching).await,
    }
}

/// Has a loop opened by a server, and follows it.
async fn open_there<R: Opens>(app: &App, request: R, known: Option<&str>, watching: Watching) -> Result<Exit, Problem> {
    let seen = match known {
        Some(id) => app.state(id).await?.1,
        None => 0,
    };
    let opened = app.run(request).await?;
    let goes_on = matches!(opened.status.as_str(), "queued" | "running" | "waiting");
    if known.is_none() && !watching.json {
        print(&status::plan(&app.state(&opened.id).await?.0, &[], Style::for_stdout()));
    }
    let id = LoopId(opened.id);
    if watching.detach && goes_on {
        return Ok(started_elsewhere(&id, &opened.name, watching.json));
    }
    if let (true, App::There(server)) = (goes_on, app) {
        let feed = server.feed(&id, seen, Until::Rest);
        Follower::remote(feed, watching.json, true).follow(&mut News::None).await?;
    }
    let view = app.run(ShowLoop { id: id.0.clone() }).await?;
    if !watching.json {
        print(&status::summary(&app.state(&id.0).await?.0, &view.status, Style::for_stdout()));
    } else if !goes_on {
        print(&json_line(&serde_json::json!(view)));
    }
    Ok(Exit::of_status(&view.status))
}

/// Drives an opened loop and follows it, or leaves it to a process in the background.
async fn go(local: &Local, opened: Opened, watching: Watching) -> Result<Exit, Problem> {
    let (id, name) = (opened.held.state.id.clone(), opened.held.state.name.clone());
    if opened.seen == 0 && !watching.json {
        print(&status::plan(&opened.held.state, &opened.notes, Style::for_stdout()));
    }
    let rests = !matches!(opened.held.state.status(), Status::Running | Status::Waiting { .. });
    if rests {
        let state = opened.held.state.clone();
        let view = local.hand(opened).await?;
        print(&match watching.json {
            true => json_line(&serde_json::json!(view)),
            false => status::summary(&state, state.status().name(), Style::for_stdout()),
        });
        return Ok(Exit::of_status(state.status().name()));
    }
    if watching.detach {
        local.hand(opened).await?;
        return Ok(started_elsewhere(&id, &name, watching.json));
    }
    let Opened { engine, held, seen, .. } = opened;
    let (signals, shutdown) = watch_signals()?;
    let mut follower = Follower::open(&engine, &id, seen, watching.json, true).await?;
    let driving = engine.drive_watched(held, shutdown)?;
    let mut news = News::Own(driving.news.clone());
    let (left, followed) = {
        let follow = follower.follow(&mut news);
        let ended = driving.ended();
        tokio::pin!(follow, ended);
        tokio::select! {
            followed = &mut follow => (ended.await, Some(followed)),
            // An interrupted process does not wait for a reader that has stopped reading.
            left = &mut ended => {
                let told = signals.borrow().is_some();
                let followed =
                    if told { tokio::time::timeout(LAST_WORDS, follow).await.ok() } else { Some(follow.await) };
                (left, followed)
            }
        }
    };
    let told = *signals.borrow();
    left?;
    let heard = followed.transpose()?.is_some();
    let state = journal::load(engine.store.as_ref(), &id).await?;
    let interrupted = matches!(state.status(), Status::Running | Status::Waiting { .. });
    let word = if interrupted { "interrupted" } else { state.status().name() };
    if !watching.json && heard {
        print(&status::summary(&state, word, Style::for_stdout()));
        if let Some(StopReason::AgentFailed { .. }) = &state.stop_reason() {
            for hint in agents::after_failure(&local.context, &state.spec.agent).await {
                print(&status::row("hint", &hint, Style::for_stdout()));
            }
        }
    }
    Ok(match told {
        Some(signal) if interrupted => Exit::Signal(signal),
        _ => Exit::of_status(word),
    })
}

/// How long the last output may take when the process is interrupted.
const LAST_WORDS: std::time::Duration = std::time::Duration::from_secs(1);

fn started_elsewhere(id: &LoopId, name: &str, json: bool) -> Exit {
    if json {
        print(&json_line(&serde_json::json!({ "id": id.0, "name": name, "detached": true })));
    } else {
        print(&format!(
            "started in the background\n  follow  windlass logs {name} -f\n  stop    windlass stop {name}\n"
        ));
    }
    Exit::Completed
}
