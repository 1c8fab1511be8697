//! `windlass list` with ten thousand loops in history.
//!
//! Invariant: the history is real: copies of a loop that ran, put there through the store itself.

use windlass_engine::data::DataDir;
use windlass_store::{Access, Create, ListFilter, NewEvent, SqliteStore, Store};
use windlass_testkit::World;

use crate::Scale;
use crate::measure::{Pairs, ms, timed};
use crate::place::{quietly, repository, run_to_limit, to_its_limit, windlass};
use crate::report::Row;

pub fn rows(scale: Scale) -> Vec<Row> {
    let world = World::new();
    let repo = repository(&world, "project", 1);
    let agent = world.install_script("appending-agent", "echo line >> work.txt\n");
    to_its_limit(run_to_limit(&world, repo.path(), agent.to_str().expect("UTF-8"), 3, &[]));
    let loops = scale.of(10_000, 20);
    fill_history(&world, loops);

    let list = |more: &[&str]| {
        let mut command = world.windlass(windlass());
        command.current_dir(repo.path()).arg("list").args(more);
        ms(timed(|| quietly(command)).1)
    };
    let reference = || ms(timed(|| quietly(world.command("/bin/true"))).1);
    let row = |what: &str, more: &[&str], most: f64| {
        let pairs = Pairs::take(scale.of(31, 1), reference, || list(more));
        let what = format!("{what}, {loops} loops in history");
        Row::of_times(&what, "`/bin/true`", &pairs, &format!("≤ {most:.0} ms"), |_, ours| ours <= most)
    };
    vec![row("`windlass list`", &[], 30.0), row("`windlass list --json` (all of them)", &["--json"], 60.0)]
}

/// Adds so many copies of a world's latest loop.
pub fn fill_history(world: &World, loops: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(copy_the_loop(&DataDir::at(world.data_dir()), loops));
}

async fn copy_the_loop(data: &DataDir, count: usize) {
    let store = std::sync::Arc::new(SqliteStore::open(data.database(), Access::ReadWrite).expect("it opens"));
    let filter = ListFilter { summaries: true, ..ListFilter::default() };
    let model = store.list(filter).await.expect("it lists").remove(0).entry;
    let events: Vec<NewEvent> = store
        .read(&model.id, 0, 1_000)
        .await
        .expect("it reads")
        .into_iter()
        .map(|event| NewEvent { at: event.at, kind: event.kind, body: event.body })
        .collect();
    let mut writing = tokio::task::JoinSet::new();
    for number in 0..count {
        let mut entry = model.clone();
        entry.id = format!("{}{number:05}", &model.id[..model.id.len() - 5]);
        entry.name = format!("{}-{number}", model.name);
        entry.summary = model.summary.replace(&model.id, &entry.id).replace(&model.name, &entry.name);
        let (store, events) = (std::sync::Arc::clone(&store), events.clone());
        writing.spawn(async move { store.create(Create { entry, events, holder: None }).await.expect("it is new") });
    }
    while writing.join_next().await.is_some() {}
}
