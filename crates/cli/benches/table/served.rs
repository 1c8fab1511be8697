//! `windlass serve` under load: how soon a line reaches a subscriber, many subscribers of one loop, many loops.
//!
//! Invariant: subscribers are plain sockets that read as fast as they can; the server is on this machine's own address
//! and is ended with its world.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use windlass_testkit::World;

use crate::Scale;
use crate::memory::private_kb;
use crate::place::{myself, repository, run_to_limit, to_its_limit, windlass};
use crate::report::Row;

pub fn rows(scale: Scale) -> Vec<Row> {
    vec![latency(scale), crowd(scale), catalogue(scale)]
}

struct Server {
    child: Child,
    port: u16,
    token: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(world: &World) -> Self {
        let mut command = world.windlass(windlass());
        command.args(["serve", "--port", "0"]).stdout(Stdio::piped()).stdin(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        let mut said = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut line = String::new();
        said.read_line(&mut line).expect("it says where it is");
        let port = line.trim().rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
        let token = std::fs::read_to_string(world.data_dir().join("server.token")).expect("a token");
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        Self { child, port, token }
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        let (port, token, length) = (self.port, &self.token, body.len());
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(head.as_bytes()).expect("it takes it");
        BufReader::new(stream)
    }

    /// Starts a loop of one turn with this agent and returns its id.
    fn run(&self, repo: &std::path::Path, name: &str, agent: &str) -> String {
        let body = serde_json::json!({
            "project": repo, "goal": "measure", "name": name, "agent_command": agent,
            "settings": { "max_iterations": 1, "sandbox": "off", "stall_timeout": "10m" },
        });
        loop {
            let mut reader = self.ask("POST", "/api/loops", &body.to_string());
            let mut head = String::new();
            reader.read_line(&mut head).expect("it answers");
            if head.contains(" 429 ") {
                std::thread::sleep(Duration::from_millis(100));
                continue;
            }
            assert!(head.contains(" 201 "), "{head}");
            let mut text = String::new();
            while !text.contains("\"id\":\"") {
                assert!(reader.read_line(&mut text).expect("it answers") > 0 || text.contains("\"id\""), "{text}");
                if text.ends_with("\r\n\r\n") {
                    let mut part = [0; 512];
                    let count = reader.read(&mut part).expect("it answers");
                    text.push_str(&String::from_utf8_lossy(&part[..count]));
                }
            }
            let id = text.split("\"id\":\"").nth(1).expect("it has one");
            return id[..36].to_owned();
        }
    }
}

fn now_ns() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos()
}

/// The agent that says what time it is, line by line.
pub fn tick(words: &[String]) {
    let number = |index: usize| words.get(index).and_then(|word| word.parse::<u64>().ok()).expect("a number");
    let (count, every) = (number(0), Duration::from_millis(number(1)));
    let mut out = std::io::stdout().lock();
    for _ in 0..count {
        std::thread::sleep(every);
        writeln!(out, "tick {} tock", now_ns()).and_then(|()| out.flush()).expect("somebody reads");
    }
}

/// The agent that writes so many megabytes a second.
pub fn pour(words: &[String]) {
    let number = |index: usize| words.get(index).and_then(|word| word.parse::<u64>().ok()).expect("a number");
    let (rate, seconds) = (number(0), number(1));
    let line = format!("{}\n", "x".repeat(79));
    let block = line.repeat(12_500 / 10 * usize::try_from(rate).expect("small"));
    let mut out = std::io::stdout().lock();
    let from = Instant::now();
    for part in 0..seconds * 10 {
        out.write_all(block.as_bytes()).and_then(|()| out.flush()).expect("somebody reads");
        std::thread::sleep((from + Duration::from_millis(100 * (part + 1))).saturating_duration_since(Instant::now()));
    }
}

/// Notes how old each tick is when it is read.
fn listen(mut reader: impl BufRead, counts: &AtomicBool, ages: &Mutex<Vec<f64>>) {
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|count| count > 0) {
        let now = now_ns();
        // What a turn's end repeats of it is not a line that was just written.
        let is_output = !line.contains("\"type\":\"") || line.contains("\"type\":\"text\"");
        if is_output && counts.load(Ordering::Relaxed) {
            let ticks = line.split("tick ").skip(1).filter_map(|rest| rest.split(' ').next()?.parse::<u128>().ok());
            let mut ages = ages.lock().expect("nobody panics");
            ages.extend(ticks.map(|at| now.saturating_sub(at) as f64 / 1e6));
        }
        if line.contains("\"loop_stopped\"") {
            return;
        }
        line.clear();
    }
}

fn percentile(ages: &mut [f64], part: f64) -> f64 {
    ages.sort_by(f64::total_cmp);
    let index = ((ages.len() as f64 - 1.0) * part).round();
    ages.get(index as usize).copied().unwrap_or(f64::NAN)
}

fn latency(scale: Scale) -> Row {
    const EVERY_MS: u64 = 200;
    let loops = scale.of(100, 2);
    let (ticks, reference_ticks) = (scale.of(150, 20), scale.of(25, 5));
    let counts = Arc::new(AtomicBool::new(true));
    let piped: Arc<Mutex<Vec<f64>>> = Arc::default();
    let readers: Vec<_> = (0..loops)
        .map(|_| {
            let mut command = Command::new(myself());
            command.args(["tick-now", &reference_ticks.to_string(), &EVERY_MS.to_string()]).stdout(Stdio::piped());
            let mut child = command.spawn().expect("it starts");
            let (counts, ages) = (Arc::clone(&counts), Arc::clone(&piped));
            std::thread::spawn(move || {
                listen(BufReader::new(child.stdout.take().expect("it is piped")), &counts, &ages);
                child.wait()
            })
        })
        .collect();
    for reader in readers {
        let _ = reader.join();
    }
    let world = World::new();
    let repo = repository(&world, "ticking", 1);
    let server = Server::start(&world);
    counts.store(false, Ordering::Relaxed);
    let ages: Arc<Mutex<Vec<f64>>> = Arc::default();
    let agent = format!("{} tick-now {ticks} {EVERY_MS}", myself());
    let readers: Vec<_> = (0..loops)
        .map(|number| {
            let id = server.run(repo.path(), &format!("tick-{number}"), &agent);
            let reader = server.ask("GET", &format!("/api/loops/{id}/events"), "");
            let (counts, ages) = (Arc::clone(&counts), Arc::clone(&ages));
            std::thread::spawn(move || listen(reader, &counts, &ages))
        })
        .collect();
    // All of them write from here on.
    counts.store(true, Ordering::Relaxed);
    for reader in readers {
        let _ = reader.join();
    }
    let mut ages = ages.lock().expect("nobody panics");
    let mut piped = piped.lock().expect("nobody panics");
    let (p50, p99) = (percentile(&mut ages, 0.5), percentile(&mut ages, 0.99));
    let (r50, r99) = (percentile(&mut piped, 0.5), percentile(&mut piped, 0.99));
    Row {
        what: format!("an agent's line to a subscriber, {loops} loops writing 5 lines a second each"),
        reference: format!("through a pipe, as many: p50 {r50:.2} ms, p99 {r99:.2} ms"),
        ours: format!("p50 {p50:.2} ms, p99 {p99:.2} ms ({} lines)", ages.len()),
        ratio: p99 / r99,
        spread: (p50 / r50, p99 / r99),
        count: ages.len(),
        aim: "p99 ≤ 50 ms".to_owned(),
        met: p99 <= 50.0,
    }
}

fn crowd(scale: Scale) -> Row {
    let subscribers = scale.of(200, 3);
    let (rate, seconds) = (scale.of(10, 1), scale.of(5, 1));
    let lines = 12_500 / 10 * rate * seconds * 10;
    let world = World::new();
    let repo = repository(&world, "crowded", 1);
    let server = Server::start(&world);
    let id = server.run(repo.path(), "pour", &format!("{} pour-now {rate} {seconds}", myself()));
    let from = Instant::now();
    let threads: Vec<_> = (0..subscribers)
        .map(|_| {
            let mut reader = server.ask("GET", &format!("/api/loops/{id}/events"), "");
            std::thread::spawn(move || {
                // Every line of output ends in the two letters \n of JSON; nothing else here has a backslash.
                let mut line = Vec::new();
                let mut seen = 0;
                while reader.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
                    if line.starts_with(b"data: ") && line.windows(13).any(|part| part == b"\"type\":\"text\"") {
                        seen += line.iter().filter(|byte| **byte == b'\\').count();
                    } else if line.windows(14).any(|part| part == b"\"loop_stopped\"") {
                        break;
                    }
                    line.clear();
                }
                (seen, from.elapsed().as_secs_f64())
            })
        })
        .collect();
    let ended: Vec<(usize, f64)> = threads.into_iter().map(|thread| thread.join().expect("it reads")).collect();
    let complete = ended.iter().filter(|(seen, _)| *seen == lines).count();
    let last = ended.iter().map(|(_, at)| *at).fold(0.0, f64::max);
    let all = (subscribers * rate * seconds) as f64 / last;
    let memory = private_kb(server.child.id()).unwrap_or(0) as f64 / 1024.0;
    Row {
        what: format!("{subscribers} subscribers of one loop that writes {rate} MB/s for {seconds} s"),
        reference: format!("the writing itself: {seconds} s"),
        ours: format!("{complete} complete, the last after {last:.1} s: {all:.0} MB/s in all; {memory:.0} MB private"),
        ratio: last / seconds as f64,
        spread: (last / seconds as f64, last / seconds as f64),
        count: subscribers,
        aim: "all complete".to_owned(),
        met: complete == subscribers,
    }
}

fn catalogue(scale: Scale) -> Row {
    let loops = scale.of(500, 3);
    let world = World::new();
    let repo = repository(&world, "many", 1);
    let empty = {
        let server = Server::start(&world);
        first_of_board(&server, 0);
        private_kb(server.child.id()).expect("it runs") as f64 / 1024.0
    };
    for _ in 0..loops {
        to_its_limit(run_to_limit(&world, repo.path(), "true", 1, &["--sandbox", "off"]));
    }
    let server = Server::start(&world);
    first_of_board(&server, loops);
    let full = private_kb(server.child.id()).expect("it runs") as f64 / 1024.0;
    Row {
        what: format!("memory of `serve` with {loops} loops in the catalogue, all of them shown"),
        reference: format!("with none: {empty:.1} MB"),
        ours: format!("{full:.1} MB"),
        ratio: full / empty,
        spread: (full / empty, full / empty),
        count: 1,
        aim: "≤ 64 MB".to_owned(),
        met: full <= 64.0,
    }
}

/// Reads the board until so many loops were told of.
fn first_of_board(server: &Server, loops: usize) {
    let mut reader = server.ask("GET", "/api/events", "");
    let mut line = String::new();
    let mut seen = 0;
    while seen < loops && reader.read_line(&mut line).is_ok_and(|count| count > 0) {
        seen += usize::from(line.starts_with("data: "));
        line.clear();
    }
}
