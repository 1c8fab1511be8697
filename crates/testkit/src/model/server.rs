//! The server: a listener on loopback, a thread per connection, a log of every request.
//!
//! Invariant: it listens on 127.0.0.1 only; dropping it ends every connection and every thread that waits at a gate.

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use serde_json::{Value, json};

use super::asked::{Asked, Wire};
use super::failure::Failure;
use super::gates::Gates;
use super::http::{self, Request};
use super::playing::{Answer, Player};
use super::reply::{Frame, Reply};
use super::script::{Script, ScriptError};
use super::{anthropic, chat, gemini, responses};
use crate::HUNG;

/// A request that came.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Value,
    /// What it asks; none for paths that are no model's.
    pub asked: Option<Asked>,
    /// Its place in the script, from 0.
    pub turn: usize,
    pub step: usize,
    pub answer: Answered,
}

/// How a request was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    /// By a step of the script.
    Reply,
    /// By a failure of the script.
    Fail,
    /// Apart, because it lists no tools.
    Apart,
    /// With a count of tokens.
    Count,
    /// 404, or 200 for a mere sign of life.
    Other,
}

/// A running server.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    player: Player,
    gates: Gates,
    log: Mutex<Vec<Seen>>,
    logged: Condvar,
    /// The connections, by the client's address.
    open: Mutex<Vec<(SocketAddr, TcpStream)>>,
    closing: AtomicBool,
}

impl ModelServer {
    /// Starts it on a free port.
    ///
    /// # Panics
    /// If no loopback port is free.
    #[track_caller]
    pub fn start(script: Script) -> ModelServer {
        ModelServer::start_on(script, 0, None).expect("a free port on loopback")
    }

    /// Starts it with a script in TOML.
    ///
    /// # Panics
    /// If the script has a mistake.
    #[track_caller]
    pub fn with_toml(script: &str) -> ModelServer {
        ModelServer::start(Script::from_toml(script).unwrap_or_else(|e: ScriptError| panic!("bad script: {e}")))
    }

    /// Every request from here on is answered by this script; an answer that is half out stays as it is.
    ///
    /// # Panics
    /// If the script has a mistake.
    #[track_caller]
    pub fn change_script(&self, script: &str) {
        let script = Script::from_toml(script).unwrap_or_else(|e: ScriptError| panic!("bad script: {e}"));
        self.shared.player.change(script);
    }

    /// Starts it on a port (0 for a free one), with gates that open by a file of their name in a directory.
    ///
    /// # Errors
    /// If the port is not free.
    pub fn start_on(script: Script, port: u16, gate_dir: Option<PathBuf>) -> io::Result<ModelServer> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            player: Player::new(script),
            gates: Gates::with_dir(gate_dir),
            log: Mutex::default(),
            logged: Condvar::new(),
            open: Mutex::default(),
            closing: AtomicBool::new(false),
        });
        let accepting = {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || accept(&listener, &shared))
        };
        Ok(ModelServer { address, shared, accepting: Some(accepting) })
    }

    /// `http://127.0.0.1:PORT`, without a path: each CLI adds its own.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    pub fn open_gate(&self, name: &str) {
        self.shared.gates.open(name);
    }

    /// Blocks until an answer waits at the gate, or has passed it.
    ///
    /// # Panics
    /// After [`HUNG`].
    #[track_caller]
    pub fn wait_reached(&self, gate: &str) {
        assert!(self.shared.gates.wait_reached(gate, HUNG), "no answer came to the gate {gate:?}\n{}", self.summary());
    }

    /// Every request up to now.
    pub fn requests(&self) -> Vec<Seen> {
        self.shared.log().clone()
    }

    /// The requests that a step of the script answered or failed: the agent's work, without titles and counts.
    pub fn work(&self) -> Vec<Seen> {
        let mut all = self.requests();
        all.retain(|seen| matches!(seen.answer, Answered::Reply | Answered::Fail));
        all
    }

    /// Blocks until a request satisfies the condition, and returns it.
    ///
    /// # Panics
    /// After [`HUNG`].
    #[track_caller]
    pub fn wait_request(&self, mut is_it: impl FnMut(&Seen) -> bool) -> Seen {
        let deadline = Instant::now() + HUNG;
        let mut log = self.shared.log();
        loop {
            if let Some(found) = log.iter().find(|s| is_it(s)) {
                return found.clone();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                drop(log);
                panic!("no such request\n{}", self.summary());
            }
            (log, _) = self.shared.logged.wait_timeout(log, left).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Blocks until more requests than these have come, for as long as it takes, and returns the new ones.
    pub fn wait_more_requests(&self, than: usize) -> Vec<Seen> {
        let mut log = self.shared.log();
        while log.len() <= than {
            log = self.shared.logged.wait(log).unwrap_or_else(PoisonError::into_inner);
        }
        log[than..].to_vec()
    }

    /// One line per request, for a user to read.
    pub fn summary(&self) -> String {
        self.requests().iter().map(|seen| format!("{}\n", seen.line())).collect()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::SeqCst);
        self.shared.gates.close_down();
        // Wakes the accepting thread, which sees that it is over; after that no connection is added.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.accepting.take() {
            let _ = thread.join();
        }
        for (_, stream) in self.shared.open().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Seen {
    /// One line about it.
    pub fn line(&self) -> String {
        let asked = self.asked.as_ref().map_or(String::new(), |a| {
            let prompt: String = a.prompt().chars().take(60).collect();
            format!(" prompts={} tools={} prompt={prompt:?}", a.prompts.len(), a.tools.len())
        });
        format!("{} {} -> {:?} turn={} step={}{asked}", self.method, self.path, self.answer, self.turn, self.step)
    }
}

impl Shared {
    fn log(&self) -> MutexGuard<'_, Vec<Seen>> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self) -> MutexGuard<'_, Vec<(SocketAddr, TcpStream)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, request: &Request, body: &Value, asked: Option<Asked>, place: (usize, usize), answer: Answered) {
        let (method, path, headers) = (request.method.clone(), request.path.clone(), request.headers.clone());
        let (turn, step) = place;
        self.log().push(Seen { method, path, headers, body: body.clone(), asked, turn, step, answer });
        self.logged.notify_all();
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.closing.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let (Ok(again), Ok(client)) = (stream.try_clone(), stream.peer_addr()) else { continue };
        shared.open().push((client, again));
        let shared = Arc::clone(shared);
        std::thread::spawn(move || {
            // A client that goes away is not a fault: tests kill them.
            let _ = serve(&shared, &stream);
            let _ = stream.shutdown(Shutdown::Both);
            shared.open().retain(|(of, _)| *of != client);
        });
    }
}

fn serve(shared: &Shared, stream: &TcpStream) -> io::Result<()> {
    let _ = stream.set_nodelay(true);
    let Some(request) = Request::read(stream)? else { return Ok(()) };
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let Some(wire) = Wire::of(&request.path).filter(|_| request.method == "POST") else {
        shared.record(&request, &body, None, (0, 0), Answered::Other);
        let sign_of_life = request.path.trim_end_matches('/').is_empty();
        let error = json!({ "error": { "message": "no such path on the scripted model", "code": 404 } });
        return http::send(stream, if sign_of_life { 200 } else { 404 }, &[], error.to_string().as_bytes());
    };
    let asked = Asked::read(wire, &request.path, &body);
    if request.path.contains("count_tokens") || request.path.contains(":countTokens") {
        shared.record(&request, &body, Some(asked), (0, 0), Answered::Count);
        return http::send(
            stream,
            200,
            &[],
            json!({ "input_tokens": 1200, "totalTokens": 1200 }).to_string().as_bytes(),
        );
    }
    let played = shared.player.play(&asked, &shared.gates);
    let how = match &played.answer {
        Answer::Apart(_) | Answer::ApartFail(_) => Answered::Apart,
        Answer::Reply { .. } => Answered::Reply,
        Answer::Fail { .. } => Answered::Fail,
    };
    shared.record(&request, &body, Some(asked.clone()), (played.turn, played.step), how);
    let whole = send_answer(shared, stream, &asked, &played.answer)?;
    if whole {
        shared.player.delivered(&played.answer);
    }
    Ok(())
}

/// Says whether the answer went out to its end.
fn send_answer(shared: &Shared, stream: &TcpStream, asked: &Asked, answer: &Answer) -> io::Result<bool> {
    let (hold, reply) = match answer {
        Answer::Apart(reply) => (&None, reply),
        Answer::Reply { hold, reply } => (hold, reply),
        Answer::ApartFail(failure) => return send_failure(shared, stream, asked, failure),
        Answer::Fail { hold, failure } => {
            if hold.as_ref().is_some_and(|gate| !shared.gates.pass(gate)) {
                return Ok(false);
            }
            return send_failure(shared, stream, asked, failure);
        }
    };
    if hold.as_ref().is_some_and(|gate| !shared.gates.pass(gate)) {
        return Ok(false);
    }
    if asked.stream {
        return send_frames(shared, stream, &frames(asked, reply));
    }
    for gate in reply.gates() {
        if !shared.gates.pass(gate) {
            return Ok(false);
        }
    }
    if reply.cut {
        return Ok(false);
    }
    let whole = match asked.wire {
        Wire::Anthropic => anthropic::whole(asked, reply),
        Wire::Responses => responses::whole(asked, reply),
        Wire::Chat => chat::whole(asked, reply),
        Wire::Gemini => gemini::whole(asked, reply),
    };
    http::send(stream, 200, &[], whole.to_string().as_bytes())?;
    Ok(true)
}

fn send_failure(shared: &Shared, stream: &TcpStream, asked: &Asked, failure: &Failure) -> io::Result<bool> {
    if failure.in_stream && asked.stream {
        return send_frames(shared, stream, &failure.streamed(asked));
    }
    let sent = failure.sent(asked);
    http::send(stream, sent.status, &sent.headers, sent.body.to_string().as_bytes())?;
    Ok(true)
}

fn frames(asked: &Asked, reply: &Reply) -> Vec<Frame> {
    match asked.wire {
        Wire::Anthropic => anthropic::frames(asked, reply),
        Wire::Responses => responses::frames(asked, reply),
        Wire::Chat => chat::frames(asked, reply),
        Wire::Gemini => gemini::frames(asked, reply),
    }
}

fn send_frames(shared: &Shared, stream: &TcpStream, frames: &[Frame]) -> io::Result<bool> {
    http::start_stream(stream)?;
    for frame in frames {
        match frame {
            Frame::Send(data) => http::chunk(stream, data)?,
            Frame::Gate(name) => {
                if !shared.gates.pass(name) {
                    return Ok(false);
                }
            }
            Frame::Cut => return Ok(false),
        }
    }
    http::end_stream(stream)?;
    Ok(true)
}
