//! The turns of a process that lives through several.
//!
//! Invariant: a turn's record is on disk before the engine hears that the turn is over, so that a turn
//! which ended is never run again, whichever process is killed next. Output belongs to the turn during which it was
//! read: what comes between two turns stays in the pipe until the next starts.

use super::open_outputs;
use super::session::{Session, Stream, write_record};
use super::transcript::Transcript;
use crate::record::{Ended, EndedBy, ExitRecord};
use crate::spec::TurnPaths;
use crate::wire::Status;

impl Session {
    /// The engine saw the turn's last word. If the process is ending, its end is the turn's instead.
    pub(super) fn end_turn(&mut self) {
        if self.idle || self.is_ending() {
            return;
        }
        let (stdout, stderr) = self.complete_outputs();
        if self.failure.is_some() {
            return;
        }
        let (memory_kills, refused_forks) = self.restraint.hits();
        let mut record = ExitRecord {
            ended: Ended::TurnOver,
            by: EndedBy::Itself,
            stdout_bytes: stdout,
            stderr_bytes: stderr,
            ended_at: jiff::Timestamp::now(),
            leftovers: 0,
            memory_kills,
            refused_forks,
            not_recorded: None,
        };
        write_record(self.outputs.record.take(), &mut record, false);
        self.idle = true;
        self.status.tell(&Status::TurnOver(record));
    }

    /// From here on output goes to the files of another turn. If the process is ending, reports its end.
    pub(super) fn begin_turn(&mut self, paths: TurnPaths) {
        if !self.idle || self.is_ending() {
            return;
        }
        match open_outputs(&paths, self.spec.cap_bytes, self.outputs.rules.clone()) {
            Ok(outputs) => {
                self.status.start_at(outputs.stdout.offset(), outputs.stderr.offset());
                self.outputs = outputs;
                self.idle = false;
                self.status.tell(&Status::TurnBegun);
            }
            Err(failure) => {
                let out_of_space = matches!(failure.os_error, Some(libc::ENOSPC | libc::EDQUOT));
                self.failure = Some(Ended::WriteFailed { out_of_space, message: failure.message });
                self.tree.kill();
            }
        }
    }

    fn is_ending(&self) -> bool {
        self.main_ended.is_some() || self.failure.is_some() || self.stop_asked || self.tree.was_killed()
    }

    /// A process that exits between two turns may have printed why. That output belongs to no turn, so it is kept
    /// with the last one.
    pub(super) fn keep_what_came_late(&mut self) {
        for (stream, name) in [(Stream::Stdout, "stdout.late"), (Stream::Stderr, "stderr.late")] {
            if self.waiting_output(stream) == 0 {
                continue;
            }
            let path = self.outputs.beside.join(name);
            // Without a place for it there is nothing to be done, and nothing depends on it.
            let Ok(transcript) = Transcript::open(&path, None, &self.outputs.rules) else { continue };
            match stream {
                Stream::Stdout => self.outputs.stdout = transcript,
                Stream::Stderr => self.outputs.stderr = transcript,
            }
        }
    }
}
