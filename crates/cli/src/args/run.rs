//! `windlass run`.

use std::path::PathBuf;

use clap::Args;
use windlass_config::{
    BranchTemplate, Commands, Files, Gates, Globs, Hosts, Iterations, Millis, Names, Options, Processes, Promise,
    Sandbox, Size, Tokens, Usd, Weight, Wishes,
};
use windlass_core::sandbox::NetworkAccess;
use windlass_core::spec::{CommitPolicy, OnLimit, OnRateLimit, SessionPolicy, Verify};
use windlass_core::summary::SummariserKind;

use super::goal::GoalSource;
use super::values::{command, file, gate, glob, host, loop_name, not_blank, setting, variable, word};

/// Start a loop and follow it
///
/// The agent works turn after turn, in a workspace of the loop's own, until it claims to be done and every gate
/// agrees, or until a limit is reached.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass run \"make the tests pass\" --agent-command \"./my-agent.sh\" --gate \"cargo test\"
  windlass run --prompt-file task.md --agent demo --max-iterations 8 --duration 90m
  windlass run \"make the parser faster\" --agent-command \"./my-agent.sh\" --iter 5 --gate \"cargo test\"
  git log -1 --format=%B | windlass run - --gate \"npm test\" --detach

Exit codes: 0 completed, 2 wrong use, 3 a limit was reached, 4 stopped by a person, 5 stalled,
6 waits for a person, 7 the agent failed, 1 Windlass itself failed.")]
pub struct RunArgs {
    /// What the loop is for, in quotes; - reads it from standard input
    #[arg(value_name = "GOAL", required_unless_present = "prompt_file")]
    goal: Option<String>,
    /// Read the goal from a file
    #[arg(long, value_name = "FILE", conflicts_with = "goal")]
    prompt_file: Option<PathBuf>,
    /// The loop's name: a-z 0-9 - _, unique in the project [default: made from the goal]
    #[arg(long, value_parser = loop_name)]
    pub name: Option<String>,
    /// Start and return; follow it later with 'windlass logs NAME -f'
    #[arg(long)]
    pub detach: bool,
    /// Print the feed as one JSON object a line
    #[arg(long)]
    pub json: bool,
    /// Agree to what this repository's own files run, as 'windlass trust --yes' does; for CI
    #[arg(long)]
    pub trust: bool,

    /// The agent: a profile's name [default: the first installed one]
    #[arg(long, value_parser = not_blank, help_heading = "Agent")]
    agent: Option<String>,
    /// Any program as the agent: words are split like a shell would, but no shell runs; the prompt comes on stdin, or
    /// where {prompt} or {prompt_file} stands
    #[arg(long, value_name = "WORDS", conflicts_with = "agent", help_heading = "Agent")]
    pub agent_command: Option<String>,
    /// The model, where the agent's command has {model} [default: the agent's]
    #[arg(long, value_parser = not_blank, help_heading = "Agent")]
    model: Option<String>,
    /// Go on in the agent's session, start a fresh one each turn, or keep one process for all turns [default: by recipe]
    #[arg(long, value_parser = word::<SessionPolicy>(&["resume", "fresh", "keep_alive"]), help_heading = "Agent")]
    session: Option<SessionPolicy>,
    /// Who writes what is remembered of an iteration [default: deterministic]
    #[arg(
        long,
        value_name = "WHO",
        value_parser = word::<SummariserKind>(&["deterministic", "agent", "endpoint"]),
        help_heading = "Agent"
    )]
    summariser: Option<SummariserKind>,
    /// A variable of your environment that agents and gates get beside the ordinary ones, such as DATABASE_URL or
    /// AWS_*. Can be given many times
    #[arg(long, value_name = "NAME", value_parser = variable, help_heading = "Agent")]
    env_pass: Vec<String>,
    /// What the agent and the gates are kept away from; auto is workspace where this machine can do it [default: auto]
    #[arg(
        long,
        value_name = "LEVEL",
        value_parser = word::<Sandbox>(&["auto", "off", "workspace", "read-only", "docker"]),
        help_heading = "Agent"
    )]
    sandbox: Option<Sandbox>,
    /// The image that --sandbox docker makes containers of; it has to be on this machine already
    #[arg(long, value_name = "IMAGE", value_parser = not_blank, help_heading = "Agent")]
    docker_image: Option<String>,
    /// Whether they reach the network; deny and list, which is --network-host alone, need a sandbox [default: allow]
    #[arg(long, value_parser = word::<NetworkAccess>(&["allow", "deny", "list"]), help_heading = "Agent")]
    network: Option<NetworkAccess>,
    /// A host that is reached with --network list: example.org, *.example.org, a.org:8443, @models or @registries. Can be
    /// given many times [default: both lists]
    #[arg(long = "network-host", value_name = "HOST", value_parser = host, help_heading = "Agent")]
    network_hosts: Vec<String>,

    /// Who takes over when the agent or its model fails for good: an agent, or agent:model. Can be given many times
    #[arg(long = "fallback", value_name = "A[:M]", value_parser = not_blank, help_heading = "Agent")]
    fallbacks: Vec<String>,
    /// Who judges the work in the recipes audited and milestone [default: the agent, in a session of its own]
    #[arg(long, value_name = "A[:M]", value_parser = not_blank, help_heading = "Agent")]
    reviewer: Option<String>,
    /// The same as a command, like --agent-command
    #[arg(long, value_name = "WORDS", value_parser = not_blank, conflicts_with = "reviewer", help_heading = "Agent")]
    pub reviewer_command: Option<String>,

    /// The recipe: named defaults for how the loop goes [default: promise; refine with --iter or --time]
    #[arg(long, value_parser = not_blank, help_heading = "When it is done")]
    recipe: Option<String>,
    /// Refine: so many iterations, each building on those before, 1–100 [default: 5]
    #[arg(
        long,
        value_name = "N",
        allow_hyphen_values = true,
        conflicts_with = "no_loop",
        help_heading = "When it is done"
    )]
    pub iter: Option<String>,
    /// Refine: as many iterations as fit into this time, such as 90m
    #[arg(
        long,
        value_name = "D",
        allow_hyphen_values = true,
        conflicts_with = "no_loop",
        help_heading = "When it is done"
    )]
    pub time: Option<String>,
    /// Audited: the agent writes the plan first, in a turn of its own
    #[arg(long, conflicts_with = "plan", help_heading = "When it is done")]
    plan_first: bool,
    /// Audited: open warnings block as bugs do
    #[arg(long, help_heading = "When it is done")]
    warnings_block: bool,
    /// Audited and milestone: you have to agree in the end
    #[arg(long, help_heading = "When it is done")]
    human_review: bool,
    /// Audited: what the agent does once after the last review was clean
    #[arg(long, value_name = "TEXT", value_parser = not_blank, help_heading = "When it is done")]
    post_action: Option<String>,
    /// Audited: a skill of the agent to use for the post-action
    #[arg(long, value_name = "NAME", value_parser = not_blank, help_heading = "When it is done")]
    post_action_skill: Option<String>,
    /// Refine and audited: the file with the plan [default: the newest *.md in .windlass/plans and .claude/plans]
    #[arg(long, value_name = "FILE", value_parser = not_blank, help_heading = "When it is done")]
    plan: Option<String>,
    /// Command that judges the work, run by your shell on a clean checkout of each commit; exit 0 passes. Repeatable
    #[arg(long = "gate", value_name = "CMD", value_parser = gate, help_heading = "When it is done")]
    gates: Vec<String>,
    /// Command that judges a claim after every gate passed; the agent learns only that a hidden gate failed. Files that it
    /// names by their absolute paths are shown to it alone. Repeatable
    #[arg(long = "hidden-gate", value_name = "CMD", value_parser = gate, help_heading = "When it is done")]
    hidden_gates: Vec<String>,
    /// What gates start from: the commit and what the set-up made (clean), also earlier build output (warm), or nothing
    /// but the commit, for a claim (cold) [default: clean]
    #[arg(long, value_parser = word::<Verify>(&["clean", "warm", "cold"]), help_heading = "When it is done")]
    verify: Option<Verify>,
    /// Do not run the gates on the base before the first turn
    #[arg(long, help_heading = "When it is done")]
    no_baseline: bool,
    /// Paths that the agent may not change, such as 'tests/**': changes there are put back and reported. Can be given
    /// many times
    #[arg(long, value_name = "GLOB", value_parser = glob, help_heading = "When it is done")]
    protect: Vec<String>,
    /// The exact text with which the agent claims to be done; empty for none [default: <promise>COMPLETE</promise>]
    #[arg(
        long,
        value_name = "TEXT",
        value_parser = setting::<Promise>,
        conflicts_with = "no_loop",
        help_heading = "When it is done"
    )]
    completion_promise: Option<Promise>,
    /// One turn, then the gates
    #[arg(long, conflicts_with = "max_iterations", help_heading = "When it is done")]
    pub no_loop: bool,

    /// How often the agent runs at most, 1–100; 0 needs another limit [default: by recipe]
    #[arg(
        long,
        value_name = "N",
        value_parser = setting::<Iterations>,
        allow_negative_numbers = true,
        help_heading = "Limits"
    )]
    max_iterations: Option<Iterations>,
    /// How long the loop may take, such as 90m, also in the middle of a turn
    #[arg(
        long,
        value_name = "D",
        value_parser = setting::<Millis>,
        allow_negative_numbers = true,
        help_heading = "Limits"
    )]
    duration: Option<Millis>,
    /// How many US dollars the loop may spend, where the agent says what it spends
    #[arg(
        long,
        value_name = "X",
        value_parser = setting::<Usd>,
        allow_negative_numbers = true,
        help_heading = "Limits"
    )]
    budget_usd: Option<Usd>,
    /// How many tokens the loop may use, where the agent says how many it uses
    #[arg(
        long,
        value_name = "N",
        value_parser = setting::<Tokens>,
        allow_negative_numbers = true,
        help_heading = "Limits"
    )]
    max_tokens: Option<Tokens>,
    /// What a limit of the loop does: end it, or pause it until you raise the limit [default: by recipe]
    #[arg(long, value_parser = word::<OnLimit>(&["stop", "pause"]), help_heading = "Limits")]
    on_limit: Option<OnLimit>,
    /// What a rate or usage limit of the provider does: wait until it is over, hand over to the next --fallback, or pause
    /// [default: wait]
    #[arg(long, value_parser = word::<OnRateLimit>(&["wait", "fallback", "pause"]), help_heading = "Limits")]
    on_rate_limit: Option<OnRateLimit>,
    /// How long one gate may take [default: 10m]
    #[arg(long, value_name = "D", value_parser = setting::<Millis>, help_heading = "Limits")]
    gate_timeout: Option<Millis>,
    /// How long one turn may take [default: 60m]
    #[arg(long, value_name = "D", value_parser = setting::<Millis>, help_heading = "Limits")]
    turn_timeout: Option<Millis>,
    /// How long the agent may be silent [default: 5m]
    #[arg(long, value_name = "D", value_parser = setting::<Millis>, help_heading = "Limits")]
    stall_timeout: Option<Millis>,
    /// How much memory the loop's processes may have together, such as 8GiB; 0 for no limit [default: 80% of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = setting::<Size>, help_heading = "Limits")]
    memory_limit: Option<Size>,
    /// How many processes and threads the loop may have at once [default: a quarter of what the machine can]
    #[arg(long, value_name = "N", value_parser = setting::<Processes>, help_heading = "Limits")]
    process_limit: Option<Processes>,
    /// The loop's share of the processor where it is scarce, 1–10000 [default: 100, as everything else]
    #[arg(long, value_name = "N", value_parser = setting::<Weight>, help_heading = "Limits")]
    cpu_weight: Option<Weight>,
    /// How much disk the loop's workspace and temporary files may take, such as 20GiB [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = setting::<Size>, help_heading = "Limits")]
    disk_limit: Option<Size>,

    /// The branch to work on [default: windlass/{name}]
    #[arg(long, value_name = "NAME", value_parser = setting::<BranchTemplate>, help_heading = "Workspace")]
    branch: Option<BranchTemplate>,
    /// The revision that the branch starts from [default: HEAD]
    #[arg(long, value_name = "REV", value_parser = not_blank, help_heading = "Workspace")]
    pub base: Option<String>,
    /// Who commits the work [default: engine]
    #[arg(long, value_parser = word::<CommitPolicy>(&["engine", "agent", "off"]), help_heading = "Workspace")]
    commit: Option<CommitPolicy>,
    /// Command that installs what the project needs, run once on the base commit; gates and the agent get a copy of what
    /// it made. Repeatable
    #[arg(long, value_name = "CMD", value_parser = command, conflicts_with = "in_place", help_heading = "Workspace")]
    setup: Vec<String>,
    /// File or directory of this checkout that is not in git and that the work needs, such as .env. Repeatable
    #[arg(long, value_name = "PATH", value_parser = file, conflicts_with = "in_place", help_heading = "Workspace")]
    copy: Vec<String>,
    /// Work in this checkout and on its branch; refuses uncommitted changes
    #[arg(long, conflicts_with_all = ["branch", "base"], help_heading = "Workspace")]
    in_place: bool,
    /// With --in-place: uncommitted changes are no obstacle
    #[arg(long, requires = "in_place", help_heading = "Workspace")]
    pub allow_dirty: bool,
}

impl RunArgs {
    /// Where the goal comes from; the parser has seen to it that there is exactly one source.
    pub fn goal_source(&self) -> GoalSource {
        match (&self.prompt_file, self.goal.as_deref()) {
            (Some(path), _) => GoalSource::File(path.clone()),
            (None, Some("-")) => GoalSource::Stdin,
            (None, text) => GoalSource::Text(text.unwrap_or_default().to_owned()),
        }
    }

    /// Whether gates are given, or wanted to be none.
    pub fn has_gates(&self) -> bool {
        !self.gates.is_empty() || !self.hidden_gates.is_empty()
    }

    /// The flags as the highest layer of the settings.
    pub fn options(&self) -> Options {
        Options {
            agent: self.agent.clone(),
            recipe: self.recipe.clone(),
            model: self.model.clone(),
            fallbacks: (!self.fallbacks.is_empty())
                .then(|| self.fallbacks.clone())
                .and_then(|wishes| Wishes::new(wishes).ok()),
            reviewer: self.reviewer.clone(),
            warnings_block: self.warnings_block.then_some(true),
            plan_first: self.plan_first.then_some(true),
            human_review: self.human_review.then_some(true),
            post_action: self.post_action.clone(),
            post_action_skill: self.post_action_skill.clone(),
            max_iterations: self.max_iterations,
            duration: self.duration,
            budget_usd: self.budget_usd,
            max_tokens: self.max_tokens,
            on_limit: self.on_limit,
            on_rate_limit: self.on_rate_limit,
            completion_promise: self.completion_promise.clone(),
            gates: (!self.gates.is_empty()).then(|| self.gates.clone()).and_then(|gates| Gates::new(gates).ok()),
            hidden_gates: (!self.hidden_gates.is_empty())
                .then(|| self.hidden_gates.clone())
                .and_then(|commands| Commands::new(commands).ok()),
            gate_timeout: self.gate_timeout,
            baseline: self.no_baseline.then_some(false),
            verify: self.verify,
            setup: (!self.setup.is_empty())
                .then(|| self.setup.clone())
                .and_then(|commands| Commands::new(commands).ok()),
            copy: (!self.copy.is_empty()).then(|| self.copy.clone()).and_then(|files| Files::new(files).ok()),
            protect: (!self.protect.is_empty()).then(|| self.protect.clone()).and_then(|globs| Globs::new(globs).ok()),
            env_pass: (!self.env_pass.is_empty())
                .then(|| self.env_pass.clone())
                .and_then(|names| Names::new(names).ok()),
            plan: self.plan.clone(),
            summariser: self.summariser,
            turn_timeout: self.turn_timeout,
            stall_timeout: self.stall_timeout,
            memory_limit: self.memory_limit,
            process_limit: self.process_limit,
            cpu_weight: self.cpu_weight,
            disk_limit: self.disk_limit,
            session: self.session,
            commit: self.commit,
            branch: self.branch.clone(),
            in_place: self.in_place.then_some(true),
            sandbox: self.sandbox,
            docker_image: self.docker_image.clone(),
            network: self.network,
            network_hosts: (!self.network_hosts.is_empty())
                .then(|| self.network_hosts.clone())
                .and_then(|hosts| Hosts::new(hosts).ok()),
            ..Options::default()
        }
    }
}
