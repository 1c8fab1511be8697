//! The examples under `packaging/fleet` have the right form, and their commands exist.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use yaml_rust2::{Yaml, YamlLoader};

fn documents(name: &str) -> Vec<Yaml> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/fleet").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    YamlLoader::load_from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn words(list: &Yaml) -> Vec<String> {
    list.as_vec().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

/// The program knows the command and each option. Nothing is done: `--help` ends it.
fn is_a_command(words: &[String]) {
    let said = Command::new(env!("CARGO_BIN_EXE_windlass-fleet"))
        .args(words)
        .arg("--help")
        .env("WINDLASS_FLEET_DATABASE", "postgres://nowhere")
        .env("WINDLASS_FLEET_HUB", "/nowhere")
        .output()
        .unwrap();
    assert!(said.status.success(), "{words:?}: {}", String::from_utf8_lossy(&said.stderr));
    assert!(String::from_utf8_lossy(&said.stdout).contains("Usage: windlass-fleet"), "{words:?}");
}

fn has_variables(found: &BTreeSet<String>) {
    let help = Command::new(env!("CARGO_BIN_EXE_windlass-fleet")).args(["worker", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    for name in found {
        assert!(help.contains(&format!("{name}=")) || help.contains(&format!("env: {name}")), "{name} is not known");
    }
}

fn keys(map: &Yaml) -> BTreeSet<String> {
    map.as_hash().unwrap().keys().map(|key| key.as_str().unwrap().to_owned()).collect()
}

#[test]
fn compose_file_names_only_what_exists() {
    let file = &documents("compose.yaml")[0];
    let (volumes, networks) = (keys(&file["volumes"]), keys(&file["networks"]));
    let services = keys(&file["services"]);
    let mut used = BTreeSet::new();
    for name in &services {
        let service = &file["services"][name.as_str()];
        // What a service takes over with `<<: *worker`.
        let taken = &service["<<"];
        let of = |key: &str| if service[key].is_badvalue() { &taken[key] } else { &service[key] };
        assert!(of("image").as_str().is_some(), "{name}");
        for volume in service["volumes"].as_vec().into_iter().flatten() {
            used.insert(volume.as_str().unwrap().split(':').next().unwrap().to_owned());
        }
        for network in of("networks").as_vec().unwrap() {
            assert!(networks.contains(network.as_str().unwrap()), "{name}");
        }
        for needed in of("depends_on").as_hash().into_iter().flatten() {
            assert!(services.contains(needed.0.as_str().unwrap()), "{name}");
        }
        // Reachable from other machines is nothing.
        assert!(service["ports"].is_badvalue(), "{name}");
        if of("image").as_str() == Some("windlass-fleet") {
            is_a_command(&words(&service["command"]));
        }
    }
    assert_eq!(used, volumes);
    has_variables(&keys(&file["x-worker"]["environment"]));
    let build = &file["x-worker"]["build"];
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/fleet").join(build["context"].as_str().unwrap());
    assert!(root.join(build["dockerfile"].as_str().unwrap()).is_file());
}

#[test]
fn kubernetes_example_names_only_what_exists() {
    let all = documents("kubernetes.yaml");
    let secret = all.iter().find(|one| one["kind"].as_str() == Some("Secret")).unwrap();
    has_variables(&keys(&secret["stringData"]));
    let mut pods = 0;
    for one in &all {
        let kind = one["kind"].as_str().unwrap();
        let version = match kind {
            "Namespace" | "Secret" => "v1",
            "Job" => "batch/v1",
            "Deployment" => "apps/v1",
            other => panic!("{other}"),
        };
        assert_eq!(one["apiVersion"].as_str(), Some(version));
        assert!(one["metadata"]["name"].as_str().is_some());
        if kind == "Namespace" {
            continue;
        }
        assert_eq!(one["metadata"]["namespace"], all[0]["metadata"]["name"]);
        let pod = &one["spec"]["template"];
        if pod.is_badvalue() {
            continue;
        }
        pods += 1;
        assert_eq!(pod["spec"]["automountServiceAccountToken"].as_bool(), Some(false), "{kind}");
        if kind == "Deployment" {
            assert_eq!(one["spec"]["selector"]["matchLabels"], pod["metadata"]["labels"]);
            assert!(pod["spec"]["terminationGracePeriodSeconds"].as_i64() >= Some(1800));
        }
        for container in pod["spec"]["containers"].as_vec().unwrap() {
            is_a_command(&words(&container["args"]));
            for from in container["envFrom"].as_vec().unwrap() {
                assert_eq!(from["secretRef"]["name"], secret["metadata"]["name"]);
            }
            let probe = &container["startupProbe"]["exec"]["command"];
            if !probe.is_badvalue() {
                let probe = words(probe);
                assert_eq!(probe[0], "windlass-fleet");
                is_a_command(&probe[1..]);
            }
            let volumes = pod["spec"]["volumes"].as_vec().map_or(&[][..], Vec::as_slice);
            for mount in container["volumeMounts"].as_vec().into_iter().flatten() {
                assert!(volumes.iter().any(|volume| volume["name"] == mount["name"]), "{kind}");
            }
        }
    }
    assert_eq!(pods, 2);
}
