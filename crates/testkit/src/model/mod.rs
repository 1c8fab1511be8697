//! A scripted model on loopback: a real HTTP server that speaks the streaming APIs of Anthropic (Messages), OpenAI
//! (Responses, Chat Completions) and Google (Gemini), so that real agent CLIs run unmodified and say what a test wants.
//!
//! ```no_run
//! use windlass_testkit::model::{ModelServer, Script};
//!
//! let script = Script::from_toml(r#"
//!     [[turn]]
//!     steps = [
//!         { say = "I will write the file.", shell = "echo scripted > out.txt" },
//!         { say = ["All ", { gate = "go" }, "done."] },
//!     ]
//! "#).unwrap();
//! let server = ModelServer::start(script);
//! println!("{}", server.url());               // http://127.0.0.1:PORT, whatever the API
//! server.wait_reached("go");                  // the answer is half out now
//! server.open_gate("go");
//! assert_eq!(server.requests().len(), 2);
//! ```
//!
//! Invariant: which step is answered follows from the transcript in the request (assistant turns since the last real
//! prompt), so a resumed session starts at its own step 0. The server keeps only what a transcript cannot tell: how
//! often a step has failed, which gates are open and, if the script requests it, how many turns were started.

mod anthropic;
mod asked;
mod chat;
mod failure;
mod gates;
mod gemini;
mod http;
mod injected;
mod playing;
mod reply;
mod responses;
mod script;
mod server;
mod tools;

pub use asked::{Asked, Tool, Wire};
pub use failure::{Failure, FailureKind};
pub use script::{Pick, Piece, RawCall, Script, ScriptError, Select, Step, Turn, Usage, Write};
pub use server::{Answered, ModelServer, Seen};
