//! Checks a proof, or the commit of a loop, against the journal, the repository, and a rerun of the gates.

use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_core::ids::LoopId;
use windlass_engine::driver::FreshRun;
use windlass_engine::engine::Engine;
use windlass_workspace::CommitFacts;

use super::statement::{CommitAt, Judgement, PREDICATE_TYPE, STATEMENT_TYPE, Statement, digest, gate_name};
use super::{gather, rerun, signature, written};
use crate::local::Local;
use crate::minimise;
use crate::problem::{Kind, Problem};
use crate::request::Request;
use crate::words::one_line;

/// Differences from the journal that are named.
const NAMED: usize = 10;

/// Check a proof, or the work of the loop that made a commit.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VerifyWork {
    /// The project's directory, or one in it.
    pub project: String,
    /// The statement, as `proof` wrote it.
    pub proof: Option<String>,
    /// The proof's signature, as `ssh-keygen -Y sign` writes it.
    pub signature: Option<String>,
    /// Who may sign proofs, as `ssh-keygen` reads it. If left out: the file that git is set up with on this machine.
    pub allowed_signers: Option<String>,
    /// Or a commit of a loop of this machine, or its merge.
    pub commit: Option<String>,
    /// Do not run the gates again.
    pub no_gates: bool,
    /// Run the commands that the proof names, although no loop of this machine ran them.
    pub agreed: bool,
}

/// What agrees, and what does not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerifyReport {
    /// Nothing differs.
    pub agrees: bool,
    /// The loop's name.
    pub r#loop: String,
    /// The commit that was judged.
    pub commit: String,
    pub lines: Vec<Checked>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Checked {
    pub what: String,
    pub agreement: Agreement,
    pub detail: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Agreement {
    Agrees,
    Differs,
    NotChecked,
}

impl Request for VerifyWork {
    type Report = VerifyReport;
    const NAME: &'static str = "verify";

    async fn perform(self, here: &Local) -> Result<VerifyReport, Problem> {
        let (_, root) = here.at(&self.project).await?;
        match (&self.proof, &self.commit) {
            (Some(text), None) => of_proof(here, &root, text, &self).await,
            (None, Some(revision)) => of_commit(here, &root, revision, &self).await,
            (Some(_), Some(_)) | (None, None) => {
                Err(Problem::new(Kind::Invalid, "pass either a proof or a commit").field("proof"))
            }
        }
    }
}

/// The lines of a report.
#[derive(Debug, Default)]
pub(super) struct Lines(Vec<Checked>);

impl Lines {
    pub(super) fn add(&mut self, what: impl Into<String>, agreement: Agreement, detail: impl Into<String>) {
        self.0.push(Checked { what: what.into(), agreement, detail: detail.into() });
    }

    fn compare(&mut self, what: impl Into<String>, agrees: bool, yes: impl Into<String>, no: impl Into<String>) {
        match agrees {
            true => self.add(what, Agreement::Agrees, yes),
            false => self.add(what, Agreement::Differs, no),
        }
    }

    fn differ(&self) -> bool {
        self.0.iter().any(|line| line.agreement == Agreement::Differs)
    }

    fn report(self, name: &str, commit: &str) -> VerifyReport {
        VerifyReport { agrees: !self.differ(), r#loop: name.to_owned(), commit: commit.to_owned(), lines: self.0 }
    }
}

/// Reads a statement; says why it is none.
pub fn read(text: &str) -> Result<(Value, Statement), Problem> {
    let bad = |why: String| {
        Problem::new(Kind::Invalid, format!("not a Windlass proof: {why}"))
            .field("proof")
            .hint("pass a file written by `windlass proof NAME --output FILE`")
    };
    let value: Value = serde_json::from_str(text).map_err(|error| bad(error.to_string()))?;
    let statement: Statement = serde_json::from_str(text).map_err(|error| bad(error.to_string()))?;
    if statement.statement_type != STATEMENT_TYPE || statement.predicate_type != PREDICATE_TYPE {
        let found = format!("{} with {}", statement.statement_type, statement.predicate_type);
        return Err(bad(format!("its type is {}", one_line(&found, 200))));
    }
    Ok((value, statement))
}

async fn of_proof(here: &Local, root: &Path, text: &str, wanted: &VerifyWork) -> Result<VerifyReport, Problem> {
    let (value, statement) = read(text)?;
    let proof = &statement.predicate;
    let mut lines = Lines::default();
    let fits = digest(value.clone()) == proof.sha256;
    // The same content in other bytes was changed too, and by whom is not known.
    let no = match fits {
        true => "the proof was changed after it was written: same content, different bytes",
        false => "the digest does not match: the proof was changed",
    };
    lines.compare("file", fits && text == written(&value), "the digest matches", no);
    let id = LoopId(proof.r#loop.id.clone());
    let known = journal(here, &id, &value, &statement, &mut lines).await?;
    subject(&statement, &mut lines);
    let engine = here.engine().await?;
    let given = signature::Given {
        proof: text,
        signature: wanted.signature.as_deref(),
        allowed: wanted.allowed_signers.as_deref(),
    };
    signature::check(&engine, root, &given, &mut lines).await?;
    commits(&engine, root, &statement, &mut lines).await?;
    if wanted.no_gates {
        lines.add("gates", Agreement::NotChecked, "not run: --no-gates");
    } else if proof.gates.is_empty() {
        lines.add("gates", Agreement::NotChecked, "the loop has no gates");
    } else if lines.differ() {
        lines.add("gates", Agreement::NotChecked, "skipped, because other checks failed");
    } else {
        let runs = match known {
            true => rerun::of_loop(here, &id, &proof.head.commit).await?,
            false => rerun::of_stranger(here, root, &statement, wanted.agreed).await?,
        };
        judged(&statement.final_judgements(), &runs, &mut lines);
    }
    Ok(lines.report(&proof.r#loop.name, &proof.head.commit))
}

/// The journal of this machine, if the loop is one of it. Says whether it is.
async fn journal(
    here: &Local,
    id: &LoopId,
    value: &Value,
    statement: &Statement,
    lines: &mut Lines,
) -> Result<bool, Problem> {
    let reader = here.reader().await?;
    let known = match &reader {
        Some(engine) => engine.store.get(&id.0).await?.is_some(),
        None => false,
    };
    let Some(engine) = reader.filter(|_| known) else {
        lines.add("journal", Agreement::NotChecked, "the loop does not exist on this machine");
        return Ok(false);
    };
    let said = &statement.predicate.journal;
    let chain = engine.store.check_chain(&id.0, said.events).await?;
    if let Some(seq) = chain.broken_at {
        lines.add("journal", Agreement::Differs, format!("event {seq} does not match the hash chain: it was changed"));
        return Ok(true);
    }
    let same = chain.events == said.events && chain.head.to_string() == said.head;
    lines.compare(
        "journal",
        same,
        format!("{} events, hash chain head {}", chain.events, short(&said.head)),
        format!("the hash chain head is {} after {} events", short(&chain.head.to_string()), chain.events),
    );
    if same {
        let mut expected = gather::statement(&engine, id, said.events).await?;
        expected.predicate.windlass.clone_from(&statement.predicate.windlass);
        let expected = serde_json::json!(expected.sealed());
        let mut found = Vec::new();
        differences("", &expected, value, &mut found);
        found.retain(|path| path != "/predicate/sha256");
        for path in found.iter().take(NAMED) {
            lines.add(path.trim_start_matches('/').replace('/', "."), Agreement::Differs, "the journal differs");
        }
        if found.is_empty() {
            lines.add("content", Agreement::Agrees, "the journal matches");
        }
    }
    Ok(true)
}

/// The places in which two values differ, as JSON pointers.
fn differences(path: &str, expected: &Value, found: &Value, to: &mut Vec<String>) {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            let mut keys: Vec<&String> = expected.keys().chain(found.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                let null = Value::Null;
                let (a, b) = (expected.get(key).unwrap_or(&null), found.get(key).unwrap_or(&null));
                differences(&format!("{path}/{key}"), a, b, to);
            }
        }
        (Value::Array(expected), Value::Array(found)) if expected.len() == found.len() => {
            for (index, (a, b)) in expected.iter().zip(found).enumerate() {
                differences(&format!("{path}/{index}"), a, b, to);
            }
        }
        (expected, found) if expected == found => {}
        (_, _) => to.push(path.to_owned()),
    }
}

fn subject(statement: &Statement, lines: &mut Lines) {
    let head = &statement.predicate.head;
    let named = match &statement.subject[..] {
        [one] => one.digest.git_commit == head.commit && one.digest.git_tree == head.tree,
        _ => false,
    };
    lines.compare("subject", named, "it is the last commit", "it is not the last commit of the loop");
}

/// Base, head and every checkpoint are in this repository, with their trees, in their order, made by this loop.
async fn commits(engine: &Engine, root: &Path, statement: &Statement, lines: &mut Lines) -> Result<(), Problem> {
    let proof = &statement.predicate;
    for (what, at) in [("base", &proof.base), ("head", &proof.head)] {
        let facts = engine.workspaces.commit_facts(root, &at.commit).await?;
        tree(what.to_owned(), at, facts.as_ref(), lines);
        if facts.is_none() {
            return Ok(());
        }
    }
    let before = engine.workspaces.comes_before(root, &proof.base.commit, &proof.head.commit).await?;
    lines.compare("history", before, "the head descends from the base", "the head does not descend from the base");
    for made in proof.commits.iter().filter(|made| !made.undone) {
        let what = format!("iteration {}", made.iteration);
        let facts = engine.workspaces.commit_facts(root, &made.commit).await?;
        let at = CommitAt { commit: made.commit.clone(), tree: made.tree.clone() };
        tree(what.clone(), &at, facts.as_ref(), lines);
        let Some(facts) = facts else { continue };
        if !engine.workspaces.comes_before(root, &facts.commit, &proof.head.commit).await? {
            lines.add(what.clone(), Agreement::Differs, "the commit is not an ancestor of the head");
        }
        // A commit of the agent's own need not name a turn.
        let turn = facts.trailer("Windlass-Turn").filter(|turn| turn.starts_with(&proof.r#loop.id));
        if let Some(turn) = turn.filter(|turn| *turn != made.turn && made.files_changed > 0) {
            lines.add(what, Agreement::Differs, format!("the commit was made by turn {}", one_line(turn, 80)));
        }
    }
    Ok(())
}

fn tree(what: String, at: &CommitAt, facts: Option<&CommitFacts>, lines: &mut Lines) {
    let commit = short(&at.commit);
    match facts {
        None => lines.add(what, Agreement::Differs, format!("commit {commit} is not in this repository")),
        Some(facts) if at.tree.is_empty() || facts.tree == at.tree => {
            lines.add(what, Agreement::Agrees, format!("commit {commit} exists with the same tree"));
        }
        Some(facts) => {
            lines.add(what, Agreement::Differs, format!("commit {commit} has the tree {}", short(&facts.tree)));
        }
    }
}

async fn of_commit(here: &Local, root: &Path, revision: &str, wanted: &VerifyWork) -> Result<VerifyReport, Problem> {
    let engine = here.readable().await?;
    let facts = engine.workspaces.commit_facts(root, revision).await?.ok_or_else(|| {
        let what = format!("'{}' is neither a file nor a commit of {}", one_line(revision, 80), root.display());
        Problem::new(Kind::Invalid, what).field("commit").hint("pass a proof file, or a commit of a loop")
    })?;
    let id = loop_of(&engine, root, &facts).await?;
    let mut lines = Lines::default();
    let chain = engine.store.check_chain(&id.0, u64::MAX).await?;
    if let Some(seq) = chain.broken_at {
        return Err(gather::broken(&id, seq));
    }
    lines.add("journal", Agreement::Agrees, format!("{} events match the hash chain", chain.events));
    let statement = gather::statement(&engine, &id, chain.events).await?;
    let proof = &statement.predicate;
    let smaller = minimise::is_offered(&engine, &id, &proof.head.commit, &facts);
    let expected = expected(&statement, &facts, smaller, &mut lines);
    commits(&engine, root, &statement, &mut lines).await?;
    if wanted.no_gates {
        lines.add("gates", Agreement::NotChecked, "not run: --no-gates");
    } else if proof.gates.is_empty() {
        lines.add("gates", Agreement::NotChecked, "the loop has no gates");
    } else {
        let runs = rerun::of_loop(here, &id, &facts.commit).await?;
        judged(&expected, &runs, &mut lines);
    }
    Ok(lines.report(&proof.r#loop.name, &facts.commit))
}

/// The loop that a commit's trailers name.
async fn loop_of(engine: &Arc<Engine>, root: &Path, facts: &CommitFacts) -> Result<LoopId, Problem> {
    let by_turn = facts.trailer("Windlass-Turn").and_then(|turn| turn.rsplitn(4, '.').nth(3));
    let by_stretch = facts.trailer("Windlass-Stretch").and_then(|stretch| stretch.rsplit_once('.')).map(|(id, _)| id);
    for id in by_turn.into_iter().chain(by_stretch) {
        if engine.store.get(id).await?.is_some() {
            return Ok(LoopId(id.to_owned()));
        }
    }
    if let Some(name) = facts.trailer("Windlass-Loop")
        && let Some(found) = engine.store.find(&root.to_string_lossy(), name).await?
    {
        return Ok(LoopId(found.entry.id));
    }
    let what = format!("no loop on this machine made commit {}", short(&facts.commit));
    Err(Problem::refused(what, "pass the proof instead: windlass verify FILE"))
}

/// What the commit is to the loop, and what was said of it then.
fn expected<'a>(statement: &'a Statement, facts: &CommitFacts, smaller: bool, lines: &mut Lines) -> Vec<&'a Judgement> {
    let proof = &statement.predicate;
    if smaller {
        lines.add("commit", Agreement::Agrees, format!("it is what gates need of the work of {}", proof.r#loop.name));
        return Vec::new();
    }
    let merged = proof.merged.as_ref().is_some_and(|merge| merge.commit == facts.commit);
    let made = proof.commits.iter().rev().find(|made| made.commit == facts.commit);
    let judged =
        || proof.judgements.iter().filter(|run| run.counts && run.commit.as_ref() == Some(&facts.commit)).collect();
    if facts.tree == proof.head.tree {
        let what = if facts.commit == proof.head.commit { "it is" } else { "it has the tree of" };
        lines.add("commit", Agreement::Agrees, format!("{what} the last commit of {}", proof.r#loop.name));
        return statement.final_judgements();
    }
    match made {
        Some(made) => {
            lines.add("commit", Agreement::Agrees, format!("it closed iteration {}", made.iteration));
            judged()
        }
        None => {
            let detail = format!("it merged {} with other work", proof.r#loop.name);
            let no = "it has the loop's trailer, but the loop did not make it";
            lines.compare("commit", merged, detail, no);
            Vec::new()
        }
    }
}

/// The verdicts now beside those of then. A gate without a verdict of then has to pass.
fn judged(then: &[&Judgement], now: &[FreshRun], lines: &mut Lines) {
    for run in now {
        let name = gate_name(&run.command, run.hidden);
        let before = then.iter().find(|earlier| earlier.command == name);
        let (word, agrees) = match before {
            Some(earlier) => (
                if earlier.verdict.passed() { "passed then" } else { "failed then" },
                earlier.verdict.passed() == run.verdict.passed(),
            ),
            None => ("not run then", run.verdict.passed()),
        };
        let now = if run.verdict.passed() { "passes now" } else { "fails now" };
        let mut detail = format!("{word}, {now} ({:.1} s)", run.duration_ms as f64 / 1000.0);
        if !agrees
            && !run.hidden
            && let Some(last) = run.output_tail.lines().rev().find(|line| !line.trim().is_empty())
        {
            detail.push_str(&format!(": {}", one_line(last, 200)));
        }
        lines.compare(format!("gate {}", one_line(&name, 80)), agrees, detail.clone(), detail);
    }
    for missing in
        then.iter().filter(|earlier| now.iter().all(|run| gate_name(&run.command, run.hidden) != earlier.command))
    {
        let (agreement, why) = match missing.hidden {
            true => (Agreement::NotChecked, "its command is known only on the loop's machine"),
            false => (Agreement::Differs, "could not run"),
        };
        lines.add(format!("gate {}", one_line(&missing.command, 80)), agreement, why);
    }
}

fn short(id: &str) -> String {
    id.chars().take(12).collect()
}
