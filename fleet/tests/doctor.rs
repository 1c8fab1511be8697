//! `windlass-fleet doctor`: what is well, what is not, and the fix.

mod server;

use std::process::Command;

use serde_json::Value;

fn doctor(args: &[&str]) -> (bool, Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass-fleet"));
    for name in ["WINDLASS_FLEET_DATABASE", "WINDLASS_FLEET_HUB", "WINDLASS_FLEET_TEMPORAL"] {
        command.env_remove(name);
    }
    let said = command.args(["doctor", "--json"]).args(args).output().unwrap();
    let report: Value = serde_json::from_slice(&said.stdout).unwrap();
    assert_eq!(report["ok"], said.status.success());
    (said.status.success(), report)
}

/// The findings about one thing: verdict and text.
fn about(report: &Value, what: &str) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let checks = report["checks"].as_array().unwrap().iter().filter(|check| check["about"] == what);
    checks.map(|check| (text(&check["verdict"]), text(&check["said"]))).collect()
}

fn has(report: &Value, what: &str, verdict: &str, words: &str) {
    let found = about(report, what);
    assert!(found.iter().any(|(is, said)| is == verdict && said.contains(words)), "{what}: {found:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_finds_a_good_fleet_well_and_names_what_is_missing() {
    let Some(url) = server::database().await else { return };
    let dir = tempfile::tempdir().unwrap();
    let (hub, data) = (dir.path().join("hub"), dir.path().join("data"));
    std::fs::create_dir(&hub).unwrap();
    let (hub, data) = (hub.to_str().unwrap(), data.to_str().unwrap());
    let (_, report) = doctor(&["--database", &url, "--hub", hub, "--data", data]);
    has(&report, "database", "good", "PostgreSQL");
    has(&report, "clock", "good", "within");
    has(&report, "hub", "good", "can be written");
    has(&report, "tls", "good", "on this machine");
    has(&report, "workers", "warning", "no worker");
    // The server of the tests writes nothing through.
    has(&report, "settings", "bad", "fsync = off");
    assert!(
        report["checks"].as_array().unwrap().iter().all(|check| check["verdict"] == "good" || check["fix"].is_string())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_names_tables_that_are_missing_and_a_clock_that_is_off() {
    let Some(url) = server::empty().await else { return };
    // A clock of the database's own, before the real one on the search path.
    let sql = "CREATE SCHEMA off;
        CREATE FUNCTION off.clock_timestamp() RETURNS timestamptz LANGUAGE sql
          AS $$ SELECT pg_catalog.clock_timestamp() + interval '1 hour' $$;";
    server::execute(&url, sql).await;
    let database = url.split('/').nth(3).unwrap().split('?').next().unwrap();
    server::execute(&url, &format!("ALTER DATABASE {database} SET search_path = off, pg_catalog, public")).await;
    let (is_well, report) = doctor(&["--database", &url]);
    assert!(!is_well);
    has(&report, "tables", "bad", "windlass-fleet store migrate");
    has(&report, "clock", "warning", "-3600.0 s");
    has(&report, "hub", "bad", "no hub given");
}

#[test]
fn doctor_says_what_does_not_answer() {
    let (is_well, report) = doctor(&[
        "--database",
        "postgres://windlass@127.0.0.1:1/windlass",
        "--hub",
        "/nowhere/hub",
        "--temporal",
        "127.0.0.1:1",
    ]);
    assert!(!is_well);
    has(&report, "database", "bad", "cannot connect");
    has(&report, "hub", "bad", "/nowhere/hub is no directory");
    has(&report, "temporal", "bad", "127.0.0.1:1");
}
