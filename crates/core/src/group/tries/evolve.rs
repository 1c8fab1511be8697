//! The fold of the events of best of N.

use jiff::Timestamp;

use super::{Tries, TriesEvent, Try};
use crate::group::{GroupStatus, Standing};

pub(super) fn created(at: Timestamp, first: &TriesEvent) -> Option<Tries> {
    let TriesEvent::TriesCreated { id, name, project, spec } = first else { return None };
    Some(Tries {
        id: id.clone(),
        name: name.clone(),
        project: project.clone(),
        tries: vec![Try::default(); spec.tries.len()],
        spec: (**spec).clone(),
        stopped: None,
        ranking: None,
        status: GroupStatus::Running,
        created_at: at,
        updated_at: at,
        stopped_at: None,
    })
}

pub(super) fn evolve(mut group: Tries, at: Timestamp, event: &TriesEvent) -> Tries {
    group.updated_at = at;
    match event {
        // Only the first event of a journal creates.
        TriesEvent::TriesCreated { .. } => {}
        TriesEvent::TriesOpened => {
            group.status = GroupStatus::Running;
            let reopens = group.stopped.is_none();
            for each in &mut group.tries {
                each.reopened =
                    reopens && each.report.as_ref().is_some_and(|report| report.standing == Standing::Paused);
                each.measured &= !each.reopened;
            }
        }
        TriesEvent::TryChanged { number, report } => {
            if let Some(each) = each_mut(&mut group, *number) {
                each.reopened = false;
                each.measured &= each.report.as_ref().is_some_and(|known| known.head_commit == report.head_commit);
                each.report = Some(report.clone());
            }
        }
        TriesEvent::TryFailed { number, message } => {
            if let Some(each) = each_mut(&mut group, *number) {
                each.failed = Some(message.clone());
                each.measured = true;
            }
        }
        TriesEvent::TryMeasured { number, diff } => {
            if let Some(each) = each_mut(&mut group, *number) {
                each.measured = true;
                each.diff = *diff;
            }
        }
        TriesEvent::OthersStopped { why } => group.stopped = Some(*why),
        TriesEvent::WinnerPicked { ranking } => group.ranking = Some(ranking.clone()),
        TriesEvent::LoserDropped { number, .. } => {
            if let Some(each) = each_mut(&mut group, *number) {
                each.dropped = true;
            }
        }
        TriesEvent::TriesPaused => group.status = GroupStatus::Paused,
        TriesEvent::TriesEnded { end } => {
            group.status = GroupStatus::Ended(*end);
            group.stopped_at = Some(at);
        }
    }
    group
}

fn each_mut(group: &mut Tries, number: u32) -> Option<&mut Try> {
    group.tries.get_mut(usize::try_from(number).ok()?.checked_sub(1)?)
}
