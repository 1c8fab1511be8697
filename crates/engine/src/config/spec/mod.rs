//! From what the user said to a loop's specification, complete and frozen.
//!
//! Pure: nothing is looked up on the machine, so the same settings always make the same specification.

mod money;
mod plan;
mod resources;
mod review;
mod sandbox;
mod summaries;
mod target;

use std::path::{Path, PathBuf};

pub use plan::{Plan as FoundPlan, read_plan};
pub use resources::{MachineFacts, resources};
pub use sandbox::{SandboxSupport, asked_container};

use windlass_agents::{KNOWN_AGENTS, KnownAgent};
use windlass_core::ids::is_valid_name;
use windlass_core::milestone::Milestone;
use windlass_core::plan::Plan;
use windlass_core::profile::{AdapterKind, AgentProfile, ITERATIONS};
use windlass_core::prompt::follow_up_word;
use windlass_core::spec::{
    AgentChoice, CommitPolicy, ContextSpec, Document, Done, GateSpec, GateWhen, Limits, LoopSpec, OnRateLimit,
    ReviewKind, SessionPolicy, TimeLimits, Verify, WorkspaceKind, WorkspaceSpec,
};

use crate::config::keys::Settings;
use crate::config::origin::Origin;
use crate::config::recipe::{DoneKind, Recipe};
use crate::config::usage::UsageError;
use crate::config::values::amounts::Millis;
use crate::config::values::gates::Gate;
use crate::config::values::lists::{Commands, Files};
use crate::config::values::value::Promise;
use sandbox::sandbox;
use summaries::summariser;
use target::target;
use windlass_core::nearest::nearest;

const PLAN_WARNINGS_SHOWN: usize = 10;

/// What is said about this one loop, beside the settings.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunOptions {
    pub goal: String,
    /// The loop's name, chosen or made from the goal.
    pub name: String,
    /// A one-off agent; it wins over the setting `agent`.
    pub agent_command: Option<String>,
    /// The agent to take when none is named: the first that is installed.
    pub installed_agent: Option<String>,
    pub no_loop: bool,
    pub base: Option<String>,
    pub allow_dirty: bool,
    /// The target of a refine loop, as it was typed.
    pub iter: Option<String>,
    pub time: Option<String>,
    /// The plan's text.
    pub plan: Option<String>,
    /// A one-off reviewer; it wins over the setting `reviewer`.
    pub reviewer_command: Option<String>,
    pub milestone: Option<Milestone>,
    /// Texts of the project that everybody in a reviewed loop has to know.
    pub documents: Vec<Document>,
    /// What this machine can do.
    pub sandbox: SandboxSupport,
    /// Somebody agreed that loops of this project run without a sandbox where there is none.
    pub agreed_to_no_sandbox: bool,
    /// What this machine has, and what holds limits on it.
    pub machine: MachineFacts,
    /// Where the user is: a relative program in `agent_command` is meant from here.
    pub cwd: PathBuf,
    /// The root of the checkout: a relative program in a profile is meant from here.
    pub project_root: PathBuf,
}

/// A specification, and what the user should know about it before the start.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    pub spec: LoopSpec,
    pub notes: Vec<String>,
}

/// Makes the specification of a loop, or says why there can be none.
pub fn resolve_spec(settings: &Settings, run: &RunOptions) -> Result<Resolved, UsageError> {
    if run.goal.trim().is_empty() {
        return Err(UsageError::EmptyGoal);
    }
    if run.goal.contains('\0') {
        return Err(UsageError::GoalHasNul);
    }
    if !is_valid_name(&run.name) {
        return Err(UsageError::Name { name: run.name.escape_debug().to_string() });
    }
    let mut notes = Vec::new();
    let recipe = find_recipe(settings)?;
    let target = target(run, &recipe, &settings.recipes)?;
    let agent = choose_agent(settings, run, &mut notes)?;
    let single = run.no_loop || agent.profile.loop_enabled == Some(false);
    if single && !run.no_loop {
        note_single(settings, &agent, &mut notes);
    }
    let plan = parsed_plan(&recipe, run, &mut notes)?;
    let (done, limits) = bounds(settings, target, &recipe, &agent, plan.as_ref(), single, &mut notes)?;
    let review = if single { None } else { review::review(&recipe, &agent, settings, run)? };
    let sandbox = sandbox(settings, &run.sandbox, run.agreed_to_no_sandbox, &mut notes)?;
    let gate_timeout_ms = settings.gate_timeout.by_recipe("gate_timeout")?.get();
    let gates = settings.gates.value.clone().unwrap_or_default();
    let gate = |gate: &Gate| GateSpec {
        command: gate.command.clone(),
        timeout_ms: gate.timeout.map_or(gate_timeout_ms, Millis::get),
        when: gate.when,
        hidden: false,
    };
    let hidden = hidden_gates(settings)?;
    let hidden = hidden.iter().map(|command| GateSpec {
        command: command.clone(),
        timeout_ms: gate_timeout_ms,
        when: GateWhen::Claim,
        hidden: true,
    });
    let language = settings.language.value.clone().unwrap_or_default();
    let plain = LoopSpec::of(run.goal.clone(), agent.clone());
    let mut spec = LoopSpec {
        fallbacks: review::fallbacks(settings.fallbacks.value.as_ref().map(|list| list.get()), settings, run)?,
        session: session_policy(settings, &agent)?,
        review,
        commit: settings.commit.by_recipe("commit")?,
        done,
        gates: gates.get().iter().map(gate).chain(hidden).collect(),
        limits,
        on_limit: settings.on_limit.by_recipe("on_limit")?,
        on_failure: recipe.on_failure.clone(),
        time: TimeLimits {
            turn_timeout_ms: settings.turn_timeout.by_recipe("turn_timeout")?.get(),
            stall_timeout_ms: settings.stall_timeout.by_recipe("stall_timeout")?.get(),
            max_stalls: recipe.max_stalls,
        },
        workspace: workspace(settings, run),
        resources: resources(settings, &run.machine),
        sandbox,
        summing_up: review::summing_up(settings, run)?,
        summariser: summariser(settings)?,
        context: context(settings, run),
        follow_up: settings.follow_up.value.clone().unwrap_or_else(|| follow_up_word(&language).to_owned()),
        prompts: recipe.prompts(),
        recipe: recipe.name,
        ..plain
    };
    settings.put_into(&mut spec);
    let nobody_takes_over =
        spec.fallbacks.is_empty() && spec.review.as_ref().is_none_or(|review| review.fallbacks.is_empty());
    if spec.on_rate_limit == OnRateLimit::Fallback && nobody_takes_over {
        return Err(UsageError::NoFallback);
    }
    Ok(Resolved { spec, notes })
}

/// Hidden gates need a checkout that no agent sees, and that later gates do not find as they left it.
fn hidden_gates(settings: &Settings) -> Result<&[String], UsageError> {
    let hidden = settings.hidden_gates.value.as_ref().map_or(&[][..], |commands| commands.get());
    let because = if hidden.is_empty() {
        None
    } else if settings.in_place.value == Some(true) {
        Some(("--in-place", "the agent would see files that they leave in the checkout"))
    } else if settings.commit.value == Some(CommitPolicy::Off) {
        Some(("--commit off", "gates need commits to check out"))
    } else if settings.verify.value == Some(Verify::Warm) {
        Some(("--verify warm", "later gates could show their build output to the agent"))
    } else {
        None
    };
    match because {
        Some((with, why)) => Err(UsageError::HiddenGates { with, why }),
        None => Ok(hidden),
    }
}

/// The sections of a reviewed loop's plan; what is wrong with it is said before anything is made.
fn parsed_plan(recipe: &Recipe, run: &RunOptions, notes: &mut Vec<String>) -> Result<Option<Plan>, UsageError> {
    let (Some(text), Some(ReviewKind::Audit)) = (&run.plan, recipe.review) else { return Ok(None) };
    let plan =
        Plan::parse(text).map_err(|error| UsageError::PlanShape { problem: error.to_string(), hint: error.hint() })?;
    notes.push(format!("the plan has {} section{}", plan.count(), if plan.count() == 1 { "" } else { "s" }));
    notes.extend(plan.warnings.iter().take(PLAN_WARNINGS_SHOWN).map(|warning| format!("plan: {warning}")));
    if plan.warnings.len() > PLAN_WARNINGS_SHOWN {
        notes.push(format!("plan: {} more warnings", plan.warnings.len() - PLAN_WARNINGS_SHOWN));
    }
    Ok(Some(plan))
}

fn find_recipe(settings: &Settings) -> Result<Recipe, UsageError> {
    settings.in_use.clone().ok_or_else(|| {
        let name = settings.recipe.value.clone().unwrap_or_default();
        let known = settings.recipes.names();
        UsageError::UnknownRecipe {
            nearest: nearest(&name, known.iter().map(String::as_str)).map(str::to_owned),
            name: name.escape_debug().to_string(),
            known,
        }
    })
}

fn choose_agent(settings: &Settings, run: &RunOptions, notes: &mut Vec<String>) -> Result<AgentChoice, UsageError> {
    let mut choice = match &run.agent_command {
        Some(command) => one_off(command, &run.cwd)?,
        None => {
            let name = settings.agent.value.clone().or_else(|| run.installed_agent.clone());
            known_agent(&name.ok_or(UsageError::NoAgent)?, settings, run)?
        }
    };
    check_profile(&choice)?;
    fill_model(settings, &mut choice, notes)?;
    Ok(choice)
}

/// An agent by its name, with a model of its own.
pub(in crate::config) fn named_agent(
    name: &str,
    model: Option<&str>,
    settings: &Settings,
    run: &RunOptions,
) -> Result<AgentChoice, UsageError> {
    let mut choice = known_agent(name, settings, run)?;
    check_profile(&choice)?;
    put_model(&mut choice, model, &Origin::Flag { name: "--model".to_owned() }, &mut Vec::new())?;
    Ok(choice)
}

fn check_profile(choice: &AgentChoice) -> Result<(), UsageError> {
    windlass_agents::check_patterns(&choice.profile).map_err(|(key, error)| {
        let text = error.to_string();
        let problem = text.rsplit("error: ").next().unwrap_or(&text).trim().to_owned();
        UsageError::Pattern { agent: choice.name.clone(), key, problem }
    })?;
    match windlass_agents::not_taken(&choice.profile) {
        Some(key) => Err(UsageError::NotTaken { agent: choice.name.clone(), key }),
        None => Ok(()),
    }
}

/// A command agent of its own, called like its program.
pub(in crate::config) fn one_off(command: &str, cwd: &Path) -> Result<AgentChoice, UsageError> {
    let words = shlex::split(command).ok_or(UsageError::UnclosedQuote)?;
    let program = words.first().filter(|program| !program.is_empty()).ok_or(UsageError::EmptyCommand)?;
    let name = program.rsplit('/').find(|part| !part.is_empty()).unwrap_or(program).to_owned();
    Ok(AgentChoice { name, profile: AgentProfile::of_command(from_dir(words, cwd)) })
}

fn known_agent(name: &str, settings: &Settings, run: &RunOptions) -> Result<AgentChoice, UsageError> {
    let name = name.to_owned();
    let Some(known) = settings.agents.get(&name) else {
        return Err(UsageError::UnknownAgent {
            nearest: nearest(&name, settings.agents.keys().map(String::as_str)).map(str::to_owned),
            known: settings.agents.keys().cloned().collect(),
            name: name.escape_debug().to_string(),
        });
    };
    let mut profile = known.profile.clone();
    if profile.command.first().is_none_or(|program| program.trim().is_empty()) {
        return Err(UsageError::NoCommand { name });
    }
    profile.command = from_dir(profile.command, &run.project_root);
    // A relative directory is meant from where it was written, too; the one of the home is told when it is known.
    profile.config_dir = profile.config_dir.map(|dir| match dir.starts_with("~/") {
        true => dir,
        false => run.project_root.join(dir).to_string_lossy().into_owned(),
    });
    Ok(AgentChoice { name, profile })
}

/// A program with a relative path is meant from where it was written, not from the workspace: there it may be
/// missing, or changed by the agent itself.
fn from_dir(mut words: Vec<String>, dir: &Path) -> Vec<String> {
    if let Some(program) = words.first_mut()
        && program.contains('/')
        && !program.starts_with('{')
        && let Some(absolute) = dir.join(&*program).components().collect::<PathBuf>().to_str()
    {
        *program = absolute.to_owned();
    }
    words
}

fn session_policy(settings: &Settings, agent: &AgentChoice) -> Result<SessionPolicy, UsageError> {
    let policy = settings.session.by_recipe("session")?;
    if policy == SessionPolicy::KeepAlive && !windlass_agents::keeps_alive(&agent.profile) {
        // A recipe asks for it where the agent can.
        if settings.session.said().is_none() {
            return Ok(SessionPolicy::Resume);
        }
        return Err(UsageError::NotKeptAlive {
            agent: agent.name.clone(),
            origin: settings.session.origin.clone(),
            known: KNOWN_AGENTS.iter().filter(|known| known.keeps_alive()).map(|known| known.name).collect(),
        });
    }
    Ok(policy)
}

const MODEL: &str = "{model}";

fn fill_model(settings: &Settings, choice: &mut AgentChoice, notes: &mut Vec<String>) -> Result<(), UsageError> {
    put_model(choice, settings.model.value.as_deref(), &settings.model.origin, notes)
}

fn put_model(
    choice: &mut AgentChoice,
    wished: Option<&str>,
    origin: &Origin,
    notes: &mut Vec<String>,
) -> Result<(), UsageError> {
    let agent = choice.name.clone();
    let profile = &mut choice.profile;
    if profile.adapter() != AdapterKind::Command {
        // Its adapter knows how to say it.
        profile.model = wished.map(str::to_owned).or_else(|| profile.model.take());
        return Ok(());
    }
    if !profile.model_args.is_empty() {
        profile.model = wished.map(str::to_owned).or_else(|| profile.model.take());
        return Ok(());
    }
    let words = || profile.command.iter().chain(&profile.resume_args).chain(profile.env.values());
    let takes_model = words().any(|word| word.contains(MODEL));
    match (wished, takes_model) {
        (Some(model), true) => profile.model = Some(model.to_owned()),
        (Some(_), false) if matches!(origin, Origin::Flag { .. }) => {
            return Err(UsageError::ModelUnused { agent });
        }
        (Some(_), false) => {
            notes.push(format!("the agent '{agent}' does not accept a model: ignoring the setting 'model'"))
        }
        (None, _) => {}
    }
    if takes_model {
        let in_command = profile.command.iter().chain(&profile.resume_args).any(|word| word.contains(MODEL));
        let Some(model) = profile.model.clone() else {
            if in_command {
                return Err(UsageError::NoModel { agent });
            }
            // A variable that names the model is for when there is one.
            profile.env.retain(|_, value| !value.contains(MODEL));
            return Ok(());
        };
        let words = profile.command.iter_mut().chain(&mut profile.resume_args).chain(profile.env.values_mut());
        words.for_each(|word| *word = word.replace(MODEL, &model));
    }
    Ok(())
}

fn note_single(settings: &Settings, agent: &AgentChoice, notes: &mut Vec<String>) {
    let mut note = format!("one turn only: the agent '{}' has loop_enabled = false", agent.name);
    if matches!(settings.max_iterations.origin, Origin::Flag { .. }) {
        note.push_str("; --max-iterations is ignored");
    }
    notes.push(note);
}

/// What ends the loop: the claim, and the limits. Every loop has at least one limit that can be seen.
fn bounds(
    settings: &Settings,
    target: Option<Done>,
    recipe: &Recipe,
    agent: &AgentChoice,
    plan: Option<&Plan>,
    single: bool,
    notes: &mut Vec<String>,
) -> Result<(Done, Limits), UsageError> {
    // Only a recipe's own number is left if nobody says one.
    let by_recipe = settings.max_iterations.by_recipe("max_iterations")?.get().unwrap_or(*ITERATIONS.end());
    let done = match (single, recipe.done) {
        (true, _) | (false, DoneKind::Gates) => Done::Gates,
        (false, DoneKind::Promise) => Done::Promise { promise: promise(settings, agent)? },
        (false, DoneKind::FindingsClear | DoneKind::Verdict) => Done::Review,
        (false, DoneKind::Target) => target.unwrap_or(Done::Count { iterations: by_recipe }),
    };
    let said = settings.max_iterations.said().map(|said| said.get());
    let by_default = || match agent.profile.max_iterations {
        Some(_) => agent.profile.iterations(),
        None => review::iterations_for(by_recipe, plan),
    };
    let duration_ms = settings.duration.value.map(|ms| ms.get());
    // The target of a refine loop is its limit, unless a lower one was asked for.
    let (max_iterations, duration_ms) = match &done {
        _ if single => (Some(1), duration_ms),
        Done::Count { iterations } => (said.flatten().or(Some(*iterations)), duration_ms),
        Done::Duration { ms } => (said.flatten(), duration_ms.or(Some(*ms))),
        Done::Promise { .. } | Done::Gates | Done::Review => (said.unwrap_or_else(|| Some(by_default())), duration_ms),
    };
    let limits = Limits {
        max_iterations,
        duration_ms,
        budget_usd: settings.budget_usd.value.map(|usd| usd.get()),
        max_tokens: settings.max_tokens.value.map(|tokens| tokens.get()),
    };
    if limits.is_unbounded() {
        return Err(UsageError::Unbounded);
    }
    let name = || agent.name.clone();
    if let Some(amount) = limits.budget_usd
        && !money::reports(&agent.profile, &["cost"])
    {
        return Err(no_price(agent, amount, &settings.budget_usd.origin));
    }
    if limits.max_tokens.is_some() && !money::reports(&agent.profile, &["input", "output"]) {
        let others = Limits { max_tokens: None, ..limits.clone() };
        if others.is_unbounded() {
            return Err(UsageError::NoTokens { agent: name() });
        }
        notes.push(format!("the agent '{}' does not report token usage: max_tokens has no effect", agent.name));
    }
    notes.extend(money::notes(agent, &limits));
    if done == (Done::Promise { promise: None }) {
        notes.push("no completion promise: only a limit ends this loop".to_owned());
    }
    Ok((done, limits))
}

/// Why a budget in dollars cannot be kept with this agent.
pub(in crate::config) fn no_price(agent: &AgentChoice, amount: f64, origin: &Origin) -> UsageError {
    UsageError::NoPrice {
        agent: agent.name.clone(),
        amount,
        origin: origin.clone(),
        model: agent.profile.model.clone(),
        named: KnownAgent::of(agent.profile.adapter()).is_some(),
    }
}

/// A setting that somebody said, else the profile's, else the default.
fn promise(settings: &Settings, agent: &AgentChoice) -> Result<Option<String>, UsageError> {
    let own = agent.profile.promise().map(Promise::new).transpose();
    let own = own.map_err(|error| UsageError::Promise { agent: agent.name.clone(), error })?;
    let default = || settings.completion_promise.value.clone();
    let promise = settings.completion_promise.said().or(own).or_else(default);
    Ok(promise.and_then(|promise| promise.get().map(str::to_owned)))
}

fn workspace(settings: &Settings, run: &RunOptions) -> WorkspaceSpec {
    let in_place = settings.in_place.value.unwrap_or(false);
    // The user's checkout is ready as it is, and has its files.
    let of_its_own = |list: Option<&[String]>| if in_place { Vec::new() } else { list.unwrap_or_default().to_vec() };
    WorkspaceSpec {
        kind: if in_place { WorkspaceKind::InPlace } else { WorkspaceKind::Clone },
        // In place the loop stays on the branch that is checked out.
        branch: if in_place {
            String::new()
        } else {
            settings.branch.value.clone().unwrap_or_default().fill(&run.name)
        },
        base: run.base.clone(),
        allow_dirty: run.allow_dirty,
        setup: of_its_own(settings.setup.value.as_ref().map(Commands::get)),
        setup_credentials: !in_place && settings.setup_credentials.value.unwrap_or(false),
        copy: of_its_own(settings.copy.value.as_ref().map(Files::get)),
        baseline: settings.baseline.value.unwrap_or(true),
        verify: settings.verify.value.unwrap_or_default(),
        subdir: subdir(run),
    }
}

/// Where in the repository the user is, from its top.
fn subdir(run: &RunOptions) -> Option<String> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let below = real(&run.cwd).strip_prefix(real(&run.project_root)).map(|below| below.to_str().map(str::to_owned));
    below.ok().flatten().filter(|below| !below.is_empty())
}

fn context(settings: &Settings, run: &RunOptions) -> ContextSpec {
    let default = ContextSpec::default();
    let tokens = settings.context_tokens.value.map(|tokens| usize::try_from(tokens.get()).unwrap_or(usize::MAX));
    ContextSpec { plan: run.plan.clone(), max_tokens: tokens.unwrap_or(default.max_tokens) }
}
