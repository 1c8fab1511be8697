//! Logging in and out: links, sessions, downloads.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use windlass_testkit::World;

use crate::client::{Response, Server};
use crate::support::{call, run};

/// The code in the link that a server prints when it starts.
fn first_code(server: &Server) -> String {
    let said = server.running.so_far();
    let link = said.lines().find_map(|line| line.split_once("/#code=")).expect("a link");
    link.1.trim().to_owned()
}

fn new_code(world: &World) -> String {
    let link = call(world, &["serve", "link", "--json"]).assert_code(0).json();
    link["link"].as_str().unwrap().split_once("/#code=").unwrap().1.to_owned()
}

fn log_in(server: &Server, code: &str, more: &[&str]) -> Response {
    let host = format!("Host: {}", server.host());
    let body = json!({ "code": code }).to_string();
    server.raw("POST", "/api/login", &[&[host.as_str()], more].concat(), &body)
}

/// A session's header line and id.
fn session(world: &World, server: &Server) -> (String, String) {
    let opened = log_in(server, &new_code(world), &[]).ok();
    (format!("Authorization: Bearer {}", opened["secret"].as_str().unwrap()), opened["id"].as_str().unwrap().to_owned())
}

fn ask(server: &Server, method: &str, path: &str, more: &[&str]) -> Response {
    let host = format!("Host: {}", server.host());
    server.raw(method, path, &[&[host.as_str()], more].concat(), "")
}

#[test]
// promise: api-3
fn login_link_opens_one_session_once() {
    let world = World::new();
    let server = Server::start(&world);
    let code = first_code(&server);
    assert!(!server.running.so_far().contains(&server.token), "the token is not printed");
    let firefox = "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
    let opened = log_in(&server, &code, &[firefox]);
    assert_eq!(opened.header("set-cookie"), None);
    let opened = opened.ok();
    assert_eq!(opened["name"], "Firefox on Linux");
    let bearer = format!("Authorization: Bearer {}", opened["secret"].as_str().unwrap());
    assert_eq!(ask(&server, "GET", "/api/loops", &[&bearer]).status, 200);
    let again = log_in(&server, &code, &[]);
    assert_eq!((again.status, again.json()["error"]["code"].clone()), (401, json!("unauthorized")));
    assert!(again.json()["error"]["hint"].as_str().unwrap().contains("windlass serve link"));
    let file = std::fs::read_to_string(world.data_dir().join("logins.json")).unwrap();
    assert!(!file.contains(opened["secret"].as_str().unwrap()) && !file.contains(&code), "only hashes: {file}");
    let mode = std::fs::metadata(world.data_dir().join("logins.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn wrong_codes_are_limited_and_keep_nobody_out() {
    let world = World::new();
    let server = Server::start(&world);
    let guesses: Vec<u16> = (0..15).map(|_| log_in(&server, "0123456789abcdef", &[]).status).collect();
    assert!(guesses.starts_with(&[401; 10]) && guesses.contains(&429), "{guesses:?}");
    assert_eq!(log_in(&server, &first_code(&server), &[]).status, 200);
}

#[test]
fn cookie_opens_nothing() {
    let world = World::new();
    let server = Server::start(&world);
    let (bearer, _) = session(&world, &server);
    let secret = bearer.rsplit(' ').next().unwrap();
    for value in [&server.token, secret] {
        let cookie = format!("Cookie: windlass-{}={value}; session={value}; token={value}", server.port);
        assert_eq!(ask(&server, "GET", "/api/loops", &[&cookie]).status, 401);
        assert_eq!(ask(&server, "GET", &format!("/api/loops?token={value}"), &[]).status, 401);
    }
}

#[test]
fn session_survives_a_restart_and_revoking_it_ends_its_streams() {
    let world = World::new();
    let server = Server::start(&world);
    let ((mine, id), (other, _)) = (session(&world, &server), session(&world, &server));
    server.running.kill();
    server.running.wait_ended();
    drop(server);
    let server = Server::start(&world);
    assert_eq!(ask(&server, "GET", "/api/loops", &[&mine]).status, 200);
    let mut stream = server.events_as(&mine, "/api/events");
    let revoked = call(&world, &["serve", "sessions", "--revoke", &id, "--json"]).assert_code(0).json();
    assert_eq!((revoked[0]["id"].clone(), revoked.as_array().unwrap().len()), (json!(id), 1));
    assert_eq!(ask(&server, "GET", "/api/loops", &[&mine]).status, 401, "at once, though the server runs");
    let agent = world.script("[[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]\n");
    run(&world, &agent, &[]).assert_code(0);
    assert_eq!(stream.next(), None, "the stream says nothing of the new loop");
    assert_eq!(ask(&server, "GET", "/api/loops", &[&other]).status, 200);
}

#[test]
fn sessions_are_listed_and_revoked_by_command() {
    let world = World::new();
    let listed = call(&world, &["serve", "sessions"]);
    assert!(listed.assert_code(0).stdout.contains("nobody is logged in"), "{}", listed.stdout);
    call(&world, &["serve", "link"]).assert_code(2).assert_stderr_has("windlass serve");
    let server = Server::start(&world);
    let link = call(&world, &["serve", "link"]);
    let begin = format!("http://{}/#code=", server.host());
    assert!(link.assert_code(0).stdout.starts_with(&begin) && link.stdout.lines().count() == 1, "{}", link.stdout);
    let ((first, id), (second, _)) = (session(&world, &server), session(&world, &server));
    let table = call(&world, &["serve", "sessions"]);
    assert!(table.assert_code(0).stdout.contains(&id), "{}", table.stdout);
    let rows = call(&world, &["serve", "sessions", "--json"]).assert_code(0).json();
    assert_eq!(rows.as_array().unwrap().len(), 2);
    assert!(rows[0].get("hash").is_none() && rows[0]["used_at"].is_string(), "{rows}");
    for wrong in [&["--revoke"][..], &["--revoke", "nobody"], &["--revoke", &id, "--all"]] {
        call(&world, &[&["serve", "sessions"], wrong].concat()).assert_code(2);
    }
    assert_eq!(ask(&server, "GET", "/api/loops", &[&first]).status, 200, "nothing was revoked by that");
    let unused = new_code(&world);
    call(&world, &["serve", "logout"]).assert_code(0);
    for bearer in [first, second] {
        assert_eq!(ask(&server, "GET", "/api/loops", &[&bearer]).status, 401);
    }
    assert_eq!(log_in(&server, &unused, &[]).status, 401, "links that nobody opened are void too");
    assert_eq!(ask(&server, "GET", "/api/loops", &[&server.bearer()]).status, 200, "the owner's scripts go on");
}

#[test]
fn session_logs_itself_out_and_a_new_login_replaces_the_old_one() {
    let world = World::new();
    let server = Server::start(&world);
    let (old, old_id) = session(&world, &server);
    let new = log_in(&server, &new_code(&world), &[&old]).ok();
    assert_eq!(ask(&server, "GET", "/api/loops", &[&old]).status, 401, "{old_id}");
    let new = format!("Authorization: Bearer {}", new["secret"].as_str().unwrap());
    assert_eq!(ask(&server, "POST", "/api/logout", &[&new]).status, 200);
    assert_eq!(ask(&server, "GET", "/api/loops", &[&new]).status, 401);
    assert_eq!(ask(&server, "POST", "/api/logout", &[&server.bearer()]).status, 400, "the token is no session");
    assert_eq!(call(&world, &["serve", "sessions", "--json"]).assert_code(0).json(), json!([]));
}

#[test]
fn ticket_downloads_one_file_once() {
    let world = World::new();
    let server = Server::start(&world);
    let agent = world.script("[[turn]]\nsteps = [{ say = \"hello <promise>COMPLETE</promise>\" }]\n");
    run(&world, &agent, &[]).assert_code(0);
    let (bearer, id) = session(&world, &server);
    let path = format!("/api/loops/{}/turns/1.coder.1/stdout?limit=4096", server.id("work"));
    let host = format!("Host: {}", server.host());
    let want = |path: &str| server.raw("POST", "/api/tickets", &[&host, &bearer], &json!({ "path": path }).to_string());
    let ticket = |value: Value| value["path"].as_str().unwrap().to_owned();
    let first = ticket(want(&path).ok());
    assert!(ask(&server, "GET", &first, &[]).text().contains("hello"));
    assert_eq!(ask(&server, "GET", &first, &[]).status, 401, "once");
    let second = ticket(want(&path).ok());
    assert_eq!(ask(&server, "GET", &second.replace("stdout", "stderr"), &[]).status, 401, "for its own path");
    let third = ticket(want(&path).ok());
    assert_eq!(ask(&server, "GET", &third, &["Sec-Fetch-Site: same-site"]).status, 403, "not from another port");
    let fourth = ticket(want(&path).ok());
    call(&world, &["serve", "sessions", "--revoke", &id]).assert_code(0);
    assert_eq!(ask(&server, "GET", &fourth, &[]).status, 401, "it dies with its session");
    assert_eq!(want(&path).status, 401);
}

#[test]
fn tickets_are_for_downloads_alone() {
    let world = World::new();
    let server = Server::start(&world);
    for path in ["/api/loops", "/api/settings", "/api/events", "/"] {
        assert_eq!(server.post("/api/tickets", &json!({ "path": path })).status, 400, "{path}");
    }
}

#[test]
fn localhost_leads_to_the_address_that_nobody_else_can_have() {
    let world = World::new();
    let server = Server::start(&world);
    let answer = server.raw("GET", "/loops/x?tab=raw", &[&format!("Host: localhost:{}", server.port)], "");
    let place = format!("http://127.0.0.1:{}/loops/x?tab=raw", server.port);
    assert_eq!((answer.status, answer.header("location")), (307, Some(place.as_str())));
    let tunnel = server.raw("GET", "/", &["Host: localhost:8080"], "");
    assert_eq!(tunnel.header("location"), Some("http://127.0.0.1:8080/"), "a tunnel keeps its own port");
    assert_eq!(server.raw("GET", "/", &[&format!("Host: {}", server.host())], "").status, 200);
}

#[test]
fn token_from_the_time_of_cookies_is_replaced() {
    let world = World::new();
    let cookies = Server::start(&world);
    let old = cookies.token.clone();
    cookies.running.kill();
    cookies.running.wait_ended();
    drop(cookies);
    std::fs::remove_file(world.data_dir().join("logins.json")).unwrap();
    let server = Server::start(&world);
    assert_ne!(server.token, old);
    assert_eq!(ask(&server, "GET", "/api/loops", &[&format!("Authorization: Bearer {old}")]).status, 401);
}
