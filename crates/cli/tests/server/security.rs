//! Who may come in.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use windlass_testkit::World;

use crate::client::Server;
use crate::support::{call, windlass};

#[test]
// promise: api-3
fn the_api_needs_the_token_and_the_page_does_not() {
    let world = World::new();
    let server = Server::start(&world);
    let host = format!("Host: {}", server.host());
    let ask = |path: &str, more: &[&str]| server.raw("GET", path, &[&[host.as_str()], more].concat(), "").status;
    assert_eq!(ask("/api/health", &[]), 200);
    assert_eq!(ask("/", &[]), 200);
    for path in
        ["/api/loops", "/api/events", "/api/loops/x/events", "/api/openapi.json", "/api/settings", "/api/x", "/metrics"]
    {
        assert_eq!(ask(path, &[]), 401, "{path}");
        assert_eq!(ask(path, &["Authorization: Bearer nonsense"]), 401, "{path}");
    }
    assert_eq!(ask("/api/loops", &[&server.bearer()]), 200);
    let metrics = server.raw("GET", "/metrics", &[&host, &server.bearer()], "");
    assert_eq!(metrics.status, 200);
    let text = String::from_utf8_lossy(&metrics.body);
    assert!(text.lines().any(|line| line == "windlass_loops{status=\"running\"} 0"), "{text}");
    assert!(!text.contains("windlass_worker"), "a single machine has no workers: {text}");
    let foreign = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"];
    assert_eq!(ask("/metrics", &[&[server.bearer().as_str()][..], &foreign].concat()), 403);
    let refused = server.raw("GET", "/api/loops", &[&host], "").json();
    assert_eq!(refused["error"]["code"], "unauthorized");
    assert!(refused["error"]["hint"].as_str().unwrap().contains("windlass serve"));
}

#[test]
fn requests_that_cannot_be_read_are_told_as_json() {
    let world = World::new();
    let server = Server::start(&world);
    let host = format!("Host: {}", server.host());
    let ask = |method: &str, path: &str| server.raw(method, path, &[&host, &server.bearer()], "");
    let not_text = "/api/loops/%ff";
    let turn = "/api/loops/x/turns/%ff/stdout";
    let query = "/api/loops/x/feed?limit=many";
    for (method, path, status) in
        [("GET", not_text, 400), ("GET", turn, 400), ("GET", query, 400), ("PUT", "/api/loops", 405)]
    {
        let answer = ask(method, path);
        assert_eq!(answer.status, status, "{path}: {}", answer.text());
        assert_eq!(answer.header("content-type"), Some("application/json"), "{path}");
        assert_eq!(answer.json()["error"]["code"], "invalid", "{path}");
    }
}

#[test]
fn files_with_the_token_and_the_address_are_their_owners_only() {
    let world = World::new();
    let server = Server::start(&world);
    for name in ["server.token", "server.json", "logins.json", "logins.lock"] {
        let mode = std::fs::metadata(world.data_dir().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let second = call(&world, &["serve"]);
    second.assert_code(2).assert_stderr_has("already");
    let token = server.token.clone();
    server.running.kill();
    server.running.wait_ended();
    drop(server);
    assert_eq!(Server::start(&world).token, token, "scripts go on after a restart");
}

#[test]
// promise: api-3
fn another_host_is_not_answered_so_that_rebinding_opens_nothing() {
    let world = World::new();
    let server = Server::start_with(&world, &["--allow-host", "build.example"]);
    let bearer = server.bearer();
    let port = server.port;
    let ask = |path: &str, host: &str| server.raw("GET", path, &[&format!("Host: {host}"), &bearer], "").status;
    for path in ["/", "/api/health", "/api/loops", "/api/events", "/assets/x.js"] {
        for host in ["evil.example", &format!("evil.example:{port}"), "127.0.0.1.evil.example", "169.254.169.254", ""] {
            assert_eq!(ask(path, host), 421, "{path} {host}");
        }
    }
    for host in [format!("localhost:{port}"), format!("[::1]:{port}"), "BUILD.example".to_owned()] {
        assert_eq!(ask("/api/loops", &host), 200, "{host}");
    }
    assert_eq!(server.raw("GET", "/api/loops", &[&bearer], "").status, 421, "none at all");
    let whole = format!("http://evil.example:{port}/api/loops");
    assert_eq!(server.raw("GET", &whole, &[&format!("Host: {}", server.host()), &bearer], "").status, 421);
}

#[test]
fn requests_of_other_sites_are_refused_streams_too() {
    let world = World::new();
    let server = Server::start(&world);
    let host = format!("Host: {}", server.host());
    let bearer = server.bearer();
    let ask = |method: &str, path: &str, more: &[&str]| {
        server.raw(method, path, &[&[host.as_str(), bearer.as_str()], more].concat(), "").status
    };
    let other_port = format!("Origin: http://127.0.0.1:{}", server.port ^ 1);
    for path in ["/api/loops", "/api/events", "/api/loops/x/events", "/api/health", "/"] {
        for header in [
            "Origin: http://evil.example",
            "Origin: null",
            &other_port,
            "Sec-Fetch-Site: cross-site",
            "Sec-Fetch-Site: same-site",
        ] {
            assert_eq!(ask("GET", path, &[header]), 403, "{path} {header}");
        }
    }
    assert_eq!(ask("POST", "/api/loops/x/stop", &["Origin: http://evil.example"]), 403);
    let ours = format!("Origin: http://{}", server.host());
    assert_eq!(ask("GET", "/api/loops", &[&ours, "Sec-Fetch-Site: same-origin"]), 200);
    let followed = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"];
    assert_eq!(ask("GET", "/", &followed), 200, "a link in a mail shows the page");
    assert_eq!(ask("GET", "/api/loops", &followed), 403, "and nothing but the page");
    let preflight = server.raw("OPTIONS", "/api/loops", &[&host, "Origin: http://evil.example"], "");
    assert_eq!(preflight.status, 403);
    assert_eq!(preflight.header("access-control-allow-origin"), None);
}

/// Every method and path that there is, with words in the place of names.
fn routes() -> Vec<(String, String)> {
    let document: serde_json::Value = serde_json::from_str(&windlass_server::openapi()).unwrap();
    let paths = document["paths"].as_object().unwrap();
    let mut routes = vec![("GET".to_owned(), "/".to_owned()), ("GET".to_owned(), "/assets/x.js".to_owned())];
    for (path, methods) in paths {
        let path = path.replace("{layer}", "user").replace(['{', '}'], "");
        let methods = methods.as_object().unwrap().keys();
        routes.extend(methods.map(|method| (method.to_uppercase(), path.clone())));
    }
    assert!(routes.len() > 45, "{}", routes.len());
    routes
}

#[test]
fn no_route_answers_another_host_another_site_or_who_has_no_token() {
    let world = World::new();
    let server = Server::start(&world);
    let (host, bearer) = (format!("Host: {}", server.host()), server.bearer());
    for (method, path) in routes() {
        let ask = |headers: &[&str]| server.raw(&method, &path, headers, "").status;
        assert_eq!(ask(&[&format!("Host: evil.example:{}", server.port), &bearer]), 421, "{method} {path}");
        assert_eq!(ask(&[&host, &bearer, "Origin: http://evil.example"]), 403, "{method} {path}");
        assert_eq!(ask(&[&host, &bearer, "Sec-Fetch-Site: cross-site"]), 403, "{method} {path}");
        if !["/", "/assets/x.js", "/api/health", "/api/login"].contains(&path.as_str()) {
            assert_eq!(ask(&[&host]), 401, "{method} {path}");
        }
    }
}

#[test]
fn the_data_directory_is_its_owners_only() {
    let world = World::new();
    std::fs::create_dir_all(world.data_dir()).unwrap();
    std::fs::set_permissions(world.data_dir(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let _server = Server::start(&world);
    let mode = std::fs::metadata(world.data_dir()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700, "it was open, and is closed now");
}

/// A certificate for this machine that nobody else has signed.
pub fn certificate(world: &World) -> (String, String) {
    let (key, cert) = (world.root().join("key.pem"), world.root().join("cert.pem"));
    let mut openssl = world.command("openssl");
    openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]);
    openssl.args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]);
    openssl.args(["-addext", "basicConstraints=critical,CA:FALSE"]);
    openssl.arg("-keyout").arg(&key).arg("-out").arg(&cert);
    world.run(openssl).assert_code(0);
    (cert.display().to_string(), key.display().to_string())
}

#[test]
fn with_a_certificate_it_speaks_tls_and_nothing_else() {
    let world = World::new();
    let (cert, key) = certificate(&world);
    let server = Server::start_with(&world, &["--tls-cert", &cert, "--tls-key", &key]);
    assert!(server.running.so_far().contains("listening on https://"), "{}", server.running.so_far());
    assert_eq!(server.raw("GET", "/api/health", &[&format!("Host: {}", server.host())], "").status, 0, "in the clear");
    let url = format!("https://127.0.0.1:{}", server.port);
    let ask = |path: &str| {
        let mut curl = world.command("curl");
        curl.args(["--silent", "--show-error", "--cacert", &cert, "--header"]);
        curl.arg(format!("Authorization: Bearer {}", server.token)).arg(format!("{url}{path}"));
        world.run(curl)
    };
    assert_eq!(ask("/api/loops").assert_code(0).json()["loops"], json!([]));
}

#[test]
fn every_response_tells_browsers_to_be_strict() {
    let world = World::new();
    let server = Server::start(&world);
    let host = format!("Host: {}", server.host());
    for (path, headers) in
        [("/", vec![host.as_str()]), ("/api/loops", vec![host.as_str()]), ("/x.js", vec!["Host: evil"])]
    {
        let answer = server.raw("GET", path, &headers, "");
        let policy = answer.header("content-security-policy").unwrap();
        for part in ["default-src 'self'", "script-src 'self';", "object-src 'none'", "frame-ancestors 'none'"] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{path}");
        assert_eq!(answer.header("access-control-allow-origin"), None, "{path}");
    }
    assert_eq!(server.get("/api/loops").header("cache-control"), Some("no-store"));
    let icon = server.get("/favicon.svg");
    assert_eq!((icon.status, icon.header("content-type")), (200, Some("image/svg+xml")));
    assert_eq!(icon.header("content-encoding"), Some("gzip"));
}

#[test]
fn listening_elsewhere_has_to_be_said_aloud_or_to_have_tls() {
    let world = World::new();
    for address in ["0.0.0.0", "[::]", "192.0.2.1:4747"] {
        let refused = call(&world, &["serve", "--port", "0", "--listen", address]);
        refused.assert_code(2).assert_stderr_has("--tls-cert").assert_stderr_has("--insecure-no-tls");
    }
    call(&world, &["serve", "--listen", "nonsense"]).assert_code(2).assert_stderr_has("is not a valid address");
    let cert = world.root().join("none.pem").display().to_string();
    let tls = call(&world, &["serve", "--listen", "0.0.0.0", "--tls-cert", &cert, "--tls-key", &cert]);
    tls.assert_code(2).assert_stderr_has("for TLS: ");
    call(&world, &["serve", "--tls-cert", &cert]).assert_code(2);
}

#[test]
fn what_is_too_large_or_too_often_is_refused() {
    let world = World::new();
    let server = Server::start(&world);
    let host = format!("Host: {}", server.host());
    let large = json!({ "project": "/", "goal": "x".repeat(2 << 20) });
    assert_eq!(server.post("/api/loops", &large).status, 413);
    let header = format!("X-Long: {}", "x".repeat(200 * 1024));
    assert_eq!(server.raw("GET", "/api/health", &[&host, &header], "").status, 431);
    // One read of the connection may hold more than the limit.
    for (length, status) in [(60, 200), (66, 431), (100, 431)] {
        let header = format!("X-Long: {}", "x".repeat(length * 1024));
        assert_eq!(server.raw("GET", "/api/health", &[&host, &header], "").status, status, "{length} KiB");
    }
    let many: Vec<String> = (0..200).map(|number| format!("X-{number}: x")).collect();
    let many: Vec<&str> = [host.as_str()].into_iter().chain(many.iter().map(String::as_str)).collect();
    assert_eq!(server.raw("GET", "/api/health", &many, "").status, 431);
    let guess = || server.raw("GET", "/api/loops", &[&host, "Authorization: Bearer x"], "").status;
    let guesses: Vec<u16> = (0..15).map(|_| guess()).collect();
    assert!(guesses.starts_with(&[401; 10]) && guesses.contains(&429), "{guesses:?}");
    assert_eq!(server.get("/api/loops").status, 200, "who has the token is not kept out by who has not");
    let changes: Vec<u16> = (0..100).map(|_| server.post("/api/loops/x/stop", &json!({})).status).collect();
    assert!(changes.starts_with(&[404; 20]) && changes.contains(&429), "{changes:?}");
    assert_eq!(server.get("/api/loops").status, 200, "looking goes on");
}

#[test]
fn requests_that_never_end_keep_nobody_out() {
    let world = World::new();
    let server = Server::start_with(&world, &["--max-connections", "4"]);
    let never_ending: Vec<_> =
        (0..20).map(|_| server.begun("GET /api/loops HTTP/1.1\r\nHost: x\r\nX-Slow: ")).collect();
    // A request that ended may keep its place a moment longer, so the streams come first.
    let mut streams: Vec<_> = (0..4).map(|_| server.events("/api/events", None)).collect();
    assert_eq!(server.get("/api/loops").status, 0, "four are served, and none of them goes for a fifth");
    let agent = world.script("[[turn]]\nsteps = [{ say = \"<promise>COMPLETE</promise>\" }]\n");
    crate::support::run(&world, &agent, &[]).assert_code(0);
    assert!(streams.iter_mut().all(|stream| stream.next().is_some()), "who was there goes on");
    drop((streams, never_ending));
    let again = std::iter::repeat_with(|| server.get("/api/loops").status).find(|status| *status != 0);
    assert_eq!(again, Some(200), "there is room again");
    call(&world, &["serve", "--max-connections", "0"]).assert_code(2);
}

#[test]
fn no_path_leads_out() {
    let world = World::new();
    let server = Server::start(&world);
    std::fs::write(world.root().join("secret.txt"), "the secret").unwrap();
    let up = ["..", "%2e%2e", "..%2f..", "....//", "%2e%2e%2f%2e%2e", "/etc"];
    for one in up {
        for path in [
            format!("/{one}/{one}/secret.txt"),
            format!("/assets/{one}/{one}/secret.txt"),
            format!("/api/loops/{one}/turns/{one}/stdout"),
            format!("/api/loops/{one}"),
            format!("/api/settings/{one}"),
        ] {
            let answer = server.get(&path);
            assert!(matches!(answer.status, 400 | 404 | 405), "{path}: {}", answer.status);
            assert!(!answer.text().contains("the secret"), "{path}");
        }
    }
}

#[test]
// promise: api-7
fn what_an_agent_says_is_data_and_never_a_page() {
    let world = World::new();
    let server = Server::start(&world);
    let evil = "<script>alert(1)</script>\u{1b}[2J";
    let agent = world.install_script("evil", &format!("#!/bin/sh\ncat > /dev/null\nprintf '%s\\n' '{evil}'\n"));
    let mut command = windlass(&world, &["run", evil, "--max-iterations", "1", "--agent-command"]);
    command.arg(&agent);
    world.run(command);
    let listed = server.get("/api/loops").ok();
    let id = listed["loops"][0]["id"].as_str().unwrap();
    assert_eq!(listed["loops"][0]["goal"], evil);
    for path in ["", "/iterations", "/turns", "/feed", "/diff", "/plan", "/findings", "/usage"] {
        let answer = server.get(&format!("/api/loops/{id}{path}"));
        assert_eq!(answer.header("content-type"), Some("application/json"), "{path}");
    }
    let raw = server.get(&format!("/api/loops/{id}/turns/1.coder.1/stdout"));
    assert!(raw.text().contains("<script>"), "byte for byte");
    assert_eq!(raw.header("content-type"), Some("application/octet-stream"));
    assert!(raw.header("content-disposition").unwrap().starts_with("attachment"));
    let prompt = server.get(&format!("/api/loops/{id}/turns/1.coder.1/prompt"));
    assert_eq!(prompt.header("content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(prompt.header("x-content-type-options"), Some("nosniff"));
    let asked =
        server.get(&format!("/api/loops/{}", "<script>alert(1)</script>".replace('<', "%3C").replace('>', "%3E")));
    assert_eq!((asked.status, asked.header("content-type")), (404, Some("application/json")));
}
