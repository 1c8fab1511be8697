//! `windlass run`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::engine::ArgValueCandidates;
use windlass_core::group::tries::Losers;
use windlass_core::sandbox::NetworkAccess;
use windlass_core::spec::{CommitPolicy, OnLimit, OnRateLimit, SessionPolicy, Verify};
use windlass_core::summary::SummariserKind;
use windlass_engine::config::{
    BranchTemplate, Commands, Files, Gates, Globs, Hosts, Iterations, Millis, Names, Options, Processes, Promise,
    Sandbox, Size, Tokens, Usd, Wait, Weight, Wishes,
};

use super::goal::GoalSource;
use super::values::{command, file, gate, glob, host, loop_name, losers, not_blank, setting, variable, word};
use crate::complete;

/// Start a loop and follow it
///
/// The agent works in a separate workspace, turn by turn, until it claims to be done and all gates pass, or until it
/// hits a limit.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass run \"make the tests pass\" --agent-command \"./my-agent.sh\" --gate \"cargo test\"
  windlass run --issue 42
  windlass run \"fix the parser\" --agents claude,codex:gpt-5 --first --gate \"cargo test\"
  windlass run --prompt-file task.md --agent demo --max-iterations 8 --duration 90m
  windlass run \"make the parser faster\" --agent-command \"./my-agent.sh\" --iter 5 --gate \"cargo test\"
  git log -1 --format=%B | windlass run - --gate \"npm test\" --detach

Exit codes: 0 completed, 1 Windlass failed, 2 usage error, 3 limit reached, 4 stopped by a user, 5 stalled, \
6 paused or needs review, 7 agent failed.")]
pub struct RunArgs {
    /// What the agent should do, in quotes; - reads it from standard input
    #[arg(value_name = "GOAL", required_unless_present_any = ["prompt_file", "issue"])]
    goal: Option<String>,
    /// Read the goal from a file
    #[arg(long, value_name = "FILE", conflicts_with = "goal")]
    prompt_file: Option<PathBuf>,
    /// Take the goal from an issue, by number or address, with gh, glab, or tea
    #[arg(long, value_name = "N|URL", value_parser = not_blank, conflicts_with_all = ["goal", "prompt_file"])]
    pub issue: Option<String>,
    /// Name of the loop: a-z 0-9 - _, unique in the project [default: derived from the goal]
    #[arg(long, value_parser = loop_name)]
    pub name: Option<String>,
    /// Run the goal so many times beside each other, from the same commit, and pick the best. Limits on cost and tokens
    /// apply to all tries together
    #[arg(long, value_name = "N", conflicts_with = "in_place")]
    pub tries: Option<u32>,
    /// Agents for the tries, as agent or agent:model, used in turn [default: the same agent for each]
    #[arg(long, value_name = "A,B:MODEL", value_delimiter = ',', conflicts_with_all = ["agent", "agent_command", "model", "in_place"])]
    pub agents: Vec<String>,
    /// Stop the other tries when one is verified
    #[arg(long)]
    pub first: bool,
    /// Keep or remove the workspaces of tries that were not picked. Their branches stay [default: keep]
    #[arg(long, value_name = "keep|drop", value_parser = losers)]
    pub losers: Option<Losers>,
    /// Run in the background. Follow it later with 'windlass logs NAME -f'
    #[arg(long)]
    pub detach: bool,
    /// Print events as JSON, one object per line
    #[arg(long)]
    pub json: bool,
    /// Trust commands defined in this repository, like 'windlass trust --yes', for CI
    #[arg(long)]
    pub trust: bool,

    /// Agent to run, by profile name [default: the first installed one]
    #[arg(long, value_parser = not_blank, help_heading = "Agent", add = ArgValueCandidates::new(complete::agents))]
    agent: Option<String>,
    /// Run any program as the agent. Words are split as in a shell, but no shell runs. The prompt replaces {prompt} or
    /// {prompt_file}, or else goes to standard input
    #[arg(long, value_name = "WORDS", conflicts_with = "agent", help_heading = "Agent")]
    pub agent_command: Option<String>,
    /// Model to use, if the agent's command contains {model} [default: the agent's default]
    #[arg(long, value_parser = not_blank, help_heading = "Agent")]
    model: Option<String>,
    /// Resume the agent's session, start a fresh one each turn, or keep one process alive [default: set by the recipe]
    #[arg(long, value_parser = word::<SessionPolicy>(&["resume", "fresh", "keep_alive"]), help_heading = "Agent")]
    session: Option<SessionPolicy>,
    /// How to summarize each iteration [default: deterministic]
    #[arg(
        long,
        value_name = "WHO",
        value_parser = word::<SummariserKind>(&["deterministic", "agent", "endpoint"]),
        help_heading = "Agent"
    )]
    summariser: Option<SummariserKind>,
    /// Pass an extra environment variable to agents and gates, such as DATABASE_URL or AWS_*. Repeatable
    #[arg(long, value_name = "NAME", value_parser = variable, help_heading = "Agent")]
    env_pass: Vec<String>,
    /// Sandbox level for the agent and gates. `auto` uses `workspace` if the machine supports it [default: auto]
    #[arg(
        long,
        value_name = "LEVEL",
        value_parser = word::<Sandbox>(&["auto", "off", "workspace", "read-only", "docker"]),
        help_heading = "Agent"
    )]
    sandbox: Option<Sandbox>,
    /// Image for --sandbox docker. It must already be on this machine
    #[arg(long, value_name = "IMAGE", value_parser = not_blank, help_heading = "Agent")]
    docker_image: Option<String>,
    /// Network access: allow all, deny all, or only the hosts given with --network-host. deny and list require a sandbox
    /// [default: allow]
    #[arg(long, value_parser = word::<NetworkAccess>(&["allow", "deny", "list"]), help_heading = "Agent")]
    network: Option<NetworkAccess>,
    /// Host to allow with --network list: example.org, *.example.org, a.org:8443, @models, or @registries. Repeatable
    /// [default: @models and @registries]
    #[arg(long = "network-host", value_name = "HOST", value_parser = host, help_heading = "Agent")]
    network_hosts: Vec<String>,

    /// Agent to fall back to if the agent or model fails permanently, as agent or agent:model. Repeatable
    #[arg(
        long = "fallback",
        value_name = "A[:M]",
        value_parser = not_blank,
        help_heading = "Agent",
        add = ArgValueCandidates::new(complete::agents)
    )]
    fallbacks: Vec<String>,
    /// Agent that reviews the work in the audited and milestone recipes [default: the same agent, in a separate session]
    #[arg(
        long,
        value_name = "A[:M]",
        value_parser = not_blank,
        help_heading = "Agent",
        add = ArgValueCandidates::new(complete::agents)
    )]
    reviewer: Option<String>,
    /// Run any program as the reviewer, like --agent-command
    #[arg(long, value_name = "WORDS", value_parser = not_blank, conflicts_with = "reviewer", help_heading = "Agent")]
    pub reviewer_command: Option<String>,

    /// Recipe: a named set of defaults [default: promise, or refine with --iter or --time]
    #[arg(
        long,
        value_parser = not_blank,
        help_heading = "When it is done",
        add = ArgValueCandidates::new(complete::recipes)
    )]
    recipe: Option<String>,
    /// Run N iterations that build on each other, 1–100 (refine) [default: 5]
    #[arg(
        long,
        value_name = "N",
        allow_hyphen_values = true,
        conflicts_with = "no_loop",
        help_heading = "When it is done"
    )]
    pub iter: Option<String>,
    /// Run as many iterations as fit into this time, such as 90m (refine)
    #[arg(
        long,
        value_name = "D",
        allow_hyphen_values = true,
        conflicts_with = "no_loop",
        help_heading = "When it is done"
    )]
    pub time: Option<String>,
    /// Have the agent write a plan first, in a separate turn (audited)
    #[arg(long, conflicts_with = "plan", help_heading = "When it is done")]
    plan_first: bool,
    /// Block completion on open warnings, as on bugs (audited)
    #[arg(long, help_heading = "When it is done")]
    warnings_block: bool,
    /// Require your approval before the loop completes (audited, milestone)
    #[arg(long, help_heading = "When it is done")]
    human_review: bool,
    /// Task for the agent after the final review is clean (audited)
    #[arg(long, value_name = "TEXT", value_parser = not_blank, help_heading = "When it is done")]
    post_action: Option<String>,
    /// Skill of the agent to use for the post-action (audited)
    #[arg(long, value_name = "NAME", value_parser = not_blank, help_heading = "When it is done")]
    post_action_skill: Option<String>,
    /// Plan file (refine, audited) [default: the newest *.md in .windlass/plans and .claude/plans]
    #[arg(long, value_name = "FILE", value_parser = not_blank, help_heading = "When it is done")]
    plan: Option<String>,
    /// Command that checks the work. Your shell runs it on a clean checkout of each commit; exit code 0 passes. Repeatable
    #[arg(long = "gate", value_name = "CMD", value_parser = gate, help_heading = "When it is done")]
    gates: Vec<String>,
    /// Command that checks a completion claim after all gates pass. The agent sees only that a hidden gate failed, and not
    /// the files that the command names by absolute path. Repeatable
    #[arg(long = "hidden-gate", value_name = "CMD", value_parser = gate, help_heading = "When it is done")]
    hidden_gates: Vec<String>,
    /// What gates start from: the commit and the set-up's output (clean), also earlier build output (warm), or, to check a
    /// claim, only the commit (cold) [default: clean]
    #[arg(long, value_parser = word::<Verify>(&["clean", "warm", "cold"]), help_heading = "When it is done")]
    verify: Option<Verify>,
    /// Do not run the gates on the base commit before the first turn
    #[arg(long, help_heading = "When it is done")]
    no_baseline: bool,
    /// Protect paths from the agent, such as 'tests/**'. Windlass reverts and reports changes there. Repeatable
    #[arg(long, value_name = "GLOB", value_parser = glob, help_heading = "When it is done")]
    protect: Vec<String>,
    /// Exact text that the agent prints to claim to be done; empty for none [default: <promise>COMPLETE</promise>]
    #[arg(
        long,
        value_name = "TEXT",
        value_parser = setting::<Promise>,
        conflicts_with = "no_loop",
        help_heading = "When it is done"
    )]
    completion_promise: Option<Promise>,
    /// Run one turn, then the gates
    #[arg(long, conflicts_with = "max_iterations", help_heading = "When it is done")]
    pub no_loop: bool,

    /// Limit the number of iterations, 1–100; 0 requires another limit [default: set by the recipe]
    #[arg(
        long,
        value_name = "N",
        value_parser = setting::<Iterations>,
        allow_negative_numbers = true,
        help_heading = "Limits"
    )]
    max_iterations: Option<Iterations>,
    /// Limit the loop's duration, such as 90m, even in the middle of a turn
    #[arg(
        long,
        value_name = "D",
        value_parser = setting::<Millis>,
        allow_negative_numbers = true,
        help_heading = "Limits"
    )]
    duration: Option<Millis>,
    /// Limit the cost in US dollars, if the agent reports its cost
    #[arg(
        long,
        value_name = "X",
        value_parser = setting::<Usd>,
        allow_negative_numbers = true,
        help_heading = "Limits"
    )]
    budget_usd: Option<Usd>,
    /// Limit the number of tokens, if the agent reports its usage
    #[arg(
        long,
        value_name = "N",
        value_parser = setting::<Tokens>,
        allow_negative_numbers = true,
        help_heading = "Limits"
    )]
    max_tokens: Option<Tokens>,
    /// When the loop hits a limit: stop, or pause until you raise the limit [default: set by the recipe]
    #[arg(long, value_parser = word::<OnLimit>(&["stop", "pause"]), help_heading = "Limits")]
    on_limit: Option<OnLimit>,
    /// When the provider rate-limits the agent: wait for the reset, switch to the next --fallback, or pause
    /// [default: wait]
    #[arg(long, value_parser = word::<OnRateLimit>(&["wait", "fallback", "pause"]), help_heading = "Limits")]
    on_rate_limit: Option<OnRateLimit>,
    /// How long a question of the agent waits for your answer (windlass answer) before its default is taken [default: 0,
    /// never wait]
    #[arg(long, value_name = "D", value_parser = setting::<Wait>, help_heading = "Limits")]
    question_wait: Option<Wait>,
    /// Timeout for each gate [default: 10m]
    #[arg(long, value_name = "D", value_parser = setting::<Millis>, help_heading = "Limits")]
    gate_timeout: Option<Millis>,
    /// Timeout for each turn [default: 60m]
    #[arg(long, value_name = "D", value_parser = setting::<Millis>, help_heading = "Limits")]
    turn_timeout: Option<Millis>,
    /// Timeout for an agent that produces no output [default: 5m]
    #[arg(long, value_name = "D", value_parser = setting::<Millis>, help_heading = "Limits")]
    stall_timeout: Option<Millis>,
    /// Limit the total memory of the loop's processes, such as 8GiB; 0 for no limit [default: 80% of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = setting::<Size>, help_heading = "Limits")]
    memory_limit: Option<Size>,
    /// Limit the number of processes and threads [default: a quarter of the machine's limit]
    #[arg(long, value_name = "N", value_parser = setting::<Processes>, help_heading = "Limits")]
    process_limit: Option<Processes>,
    /// CPU weight relative to other processes, 1–10000 [default: 100, the system's default]
    #[arg(long, value_name = "N", value_parser = setting::<Weight>, help_heading = "Limits")]
    cpu_weight: Option<Weight>,
    /// Limit the disk usage of the workspace and temporary files, such as 20GiB [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = setting::<Size>, help_heading = "Limits")]
    disk_limit: Option<Size>,

    /// Branch to work on [default: windlass/{name}]
    #[arg(long, value_name = "NAME", value_parser = setting::<BranchTemplate>, help_heading = "Workspace")]
    branch: Option<BranchTemplate>,
    /// Revision to start the branch from [default: HEAD]
    #[arg(long, value_name = "REV", value_parser = not_blank, help_heading = "Workspace")]
    pub base: Option<String>,
    /// Who makes commits: Windlass (engine), the agent, or nobody (off) [default: engine]
    #[arg(long, value_parser = word::<CommitPolicy>(&["engine", "agent", "off"]), help_heading = "Workspace")]
    commit: Option<CommitPolicy>,
    /// Command that installs the project's dependencies. Runs once on the base commit; gates and the agent get a copy of
    /// its output. Repeatable
    #[arg(long, value_name = "CMD", value_parser = command, conflicts_with = "in_place", help_heading = "Workspace")]
    setup: Vec<String>,
    /// Copy an untracked file or directory, such as .env, from this checkout to the workspace. Repeatable
    #[arg(long, value_name = "PATH", value_parser = file, conflicts_with = "in_place", help_heading = "Workspace")]
    copy: Vec<String>,
    /// Work in this checkout, on its current branch. Requires a clean tree
    #[arg(long, conflicts_with_all = ["branch", "base"], help_heading = "Workspace")]
    in_place: bool,
    /// Allow uncommitted changes with --in-place
    #[arg(long, requires = "in_place", help_heading = "Workspace")]
    pub allow_dirty: bool,
}

impl RunArgs {
    /// Where the goal comes from. Clap ensures that there is exactly one source.
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
            question_wait: self.question_wait,
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
