//! What people can be notified of.

/// What somebody may want to be told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// Nothing goes on before a person does something.
    NeedsPerson,
    Completed,
    /// Ended in any other way.
    Stopped,
    /// Goes on by itself later.
    Waiting,
}

impl Occasion {
    pub const ALL: [Occasion; 4] = [Occasion::NeedsPerson, Occasion::Completed, Occasion::Stopped, Occasion::Waiting];

    pub fn name(self) -> &'static str {
        match self {
            Occasion::NeedsPerson => "needs_person",
            Occasion::Completed => "completed",
            Occasion::Stopped => "stopped",
            Occasion::Waiting => "waiting",
        }
    }
}
