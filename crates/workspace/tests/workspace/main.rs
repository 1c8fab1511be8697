//! The workspace against real repositories in temporary directories, as one program.

mod agent;
mod builds;
mod checkpoint;
mod clone;
mod create;
mod cut;
mod files;
mod fixture;
mod guard;
mod held_back;
mod inplace;
mod judging;
mod links;
mod merge;
mod nested;
mod queue;
mod snapshots;
mod submodules;
mod unstored;
mod written_here;
