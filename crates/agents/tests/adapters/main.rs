//! The adapters: what they start, and what they read out of recorded, made up and hostile output.

mod conversations;
mod dialects;
mod hostile;
mod injection;
mod launch;
mod recordings;
mod replay;
