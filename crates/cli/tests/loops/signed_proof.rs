//! `windlass proof --sign`: a stranger knows who vouches for a proof, with `ssh-keygen` alone or with `windlass verify`.

use std::path::{Path, PathBuf};

use crate::support::*;
use windlass_testkit::{Output, World};

const WORKS: &str = r#"
    [[turn]]
    steps = [{ write = { path = "a", content = "1\n" } }, { say = "<promise>COMPLETE</promise>" }]
"#;

/// A verified loop, and keys of two people of whom the first is allowed to sign.
struct Signing {
    world: World,
    proof: PathBuf,
    allowed: PathBuf,
}

impl Signing {
    fn new() -> Self {
        let world = World::new();
        run(&world, &world.script(WORKS), &["--gate", "test -f a"]).assert_code(0);
        for name in ["alice", "mallory"] {
            let mut command = world.command("ssh-keygen");
            command.args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"]).arg(world.root().join(name));
            world.run(command).assert_code(0);
        }
        let public = std::fs::read_to_string(world.root().join("alice.pub")).unwrap();
        let allowed = world.root().join("allowed signers");
        std::fs::write(&allowed, format!("alice@example.com namespaces=\"windlass-proof\" {public}")).unwrap();
        Self { proof: world.root().join("the proof.json"), world, allowed }
    }

    fn key(&self, name: &str) -> String {
        self.world.root().join(name).to_str().unwrap().to_owned()
    }

    fn sign(&self, name: &str) -> Output {
        call(&self.world, &["proof", "work", "-o", text(&self.proof), "--sign", "--key", &self.key(name)])
    }

    fn verify(&self, more: &[&str]) -> Output {
        call(&self.world, &[&["verify", text(&self.proof), "--no-gates"], more].concat())
    }

    fn verify_strictly(&self) -> Output {
        self.verify(&["--allowed-signers", text(&self.allowed)])
    }

    fn signature(&self) -> PathBuf {
        self.world.root().join("the proof.json.sig")
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
// promise: proof-1
fn signed_proof_names_its_signer_and_fits_plain_ssh_keygen() {
    let signing = Signing::new();
    signing.sign("alice").assert_code(0).assert_stderr_has("signed with ED25519 key SHA256:");
    signing.verify_strictly().assert_code(0).assert_stdout_has("✓ signature: signed by alice@example.com with ED25519");
    let mut plain = signing.world.command("ssh-keygen");
    plain.args(["-Y", "verify", "-n", "windlass-proof", "-I", "alice@example.com", "-f", text(&signing.allowed), "-s"]);
    plain.arg(signing.signature());
    let bytes = std::fs::read(&signing.proof).unwrap();
    signing.world.run_with_input(plain, bytes).assert_code(0).assert_stdout_has("Good \"windlass-proof\" signature");
    // Nobody says whom to believe.
    signing.verify(&[]).assert_code(0).assert_stdout_has("- signature: it matches, but the owner of ED25519 key");
    let config = format!("gpg.ssh.allowedSignersFile={}", signing.allowed.display());
    let (name, value) = config.split_once('=').unwrap();
    signing.world.repo().git(["config", name, value]);
    let report = signing.verify(&["--json"]).assert_code(0).json();
    let line = report["lines"].as_array().unwrap().iter().find(|line| line["what"] == "signature").unwrap();
    assert_eq!(line["agreement"], "agrees", "{line}");
}

#[test]
// promise: proof-1
fn change_of_any_byte_of_a_signed_proof_or_its_signature_is_reported() {
    let signing = Signing::new();
    signing.sign("alice").assert_code(0);
    let whole = std::fs::read(&signing.proof).unwrap();
    let spaces = whole.iter().enumerate().filter(|(_, byte)| **byte == b' ').map(|(at, _)| at).take(3);
    for at in (0..whole.len()).step_by(whole.len() / 40).chain(spaces).chain([whole.len() - 1]) {
        let mut bytes = whole.clone();
        bytes[at] = match bytes[at] {
            b' ' => b'\t',
            b'\n' => b' ',
            b'1' => b'2',
            _ => b'1',
        };
        std::fs::write(&signing.proof, &bytes).unwrap();
        let out = signing.verify_strictly();
        assert_ne!(out.code, Some(0), "byte {at}: {}", out.shown());
        let told = out.shown().contains("✗ signature: it does not fit") || out.shown().contains("not a Windlass proof");
        assert!(told, "byte {at}: {}", out.shown());
    }
    std::fs::write(&signing.proof, &whole).unwrap();
    let armor = std::fs::read_to_string(signing.signature()).unwrap();
    for line in 1..armor.lines().count() - 1 {
        let mut lines: Vec<String> = armor.lines().map(str::to_owned).collect();
        let (first, rest) = lines[line].split_at(1);
        lines[line] = format!("{}{rest}", if first == "A" { "B" } else { "A" });
        std::fs::write(signing.signature(), lines.join("\n") + "\n").unwrap();
        signing.verify_strictly().assert_code(1).assert_stdout_has("✗ signature: it does not fit");
    }
}

#[test]
fn white_space_changed_in_an_unsigned_proof_is_reported() {
    let signing = Signing::new();
    call(&signing.world, &["proof", "work", "-o", text(&signing.proof)]).assert_code(0);
    signing.verify(&[]).assert_code(0).assert_stdout_has("- signature: the proof is not signed");
    let whole = std::fs::read_to_string(&signing.proof).unwrap();
    std::fs::write(&signing.proof, whole.replacen("\n  ", "\n\t ", 1)).unwrap();
    signing.verify(&[]).assert_code(1).assert_stdout_has("✗ file: the proof was changed after it was written");
}

#[test]
fn signature_of_a_stranger_of_another_purpose_or_none_is_refused() {
    let signing = Signing::new();
    call(&signing.world, &["proof", "work", "-o", text(&signing.proof)]).assert_code(0);
    signing.verify_strictly().assert_code(1).assert_stdout_has("✗ signature: the proof is not signed");
    signing.sign("mallory").assert_code(0);
    signing.verify_strictly().assert_code(1).assert_stdout_has("is not allowed to sign proofs");
    let mut other = signing.world.command("ssh-keygen");
    other.args(["-q", "-Y", "sign", "-n", "git", "-f", &signing.key("alice")]);
    let made = signing.world.run_with_input(other, std::fs::read(&signing.proof).unwrap());
    std::fs::write(signing.signature(), &made.assert_code(0).stdout).unwrap();
    signing.verify_strictly().assert_code(1).assert_stdout_has("✗ signature: it does not fit");
    let lost = signing.verify(&["--signature", "no-such-file"]);
    lost.assert_code(2).assert_stderr_has("cannot read no-such-file");
    call(&signing.world, &["verify", "HEAD", "--allowed-signers", text(&signing.allowed)])
        .assert_code(2)
        .assert_stderr_has("only the file of a proof can be signed");
}

#[test]
fn key_is_the_one_that_git_signs_with() {
    let signing = Signing::new();
    let args = ["proof", "work", "-o", text(&signing.proof), "--sign"];
    call(&signing.world, &args).assert_code(2).assert_stderr_has("no ssh key to sign with").assert_stderr_has("--key");
    assert!(!signing.proof.exists(), "an unsigned proof is not left in its place");
    signing.world.repo().git(["config", "--global", "gpg.format", "ssh"]);
    // As git takes it: the public key of a private key beside it.
    signing.world.repo().git(["config", "--global", "user.signingkey", &signing.key("alice.pub")]);
    call(&signing.world, &args).assert_code(0);
    signing.verify_strictly().assert_code(0);
    let markdown = ["proof", "work", "-o", text(&signing.proof), "--sign", "--format", "markdown"];
    call(&signing.world, &markdown).assert_code(2).assert_stderr_has("sign the JSON");
    call(&signing.world, &[&args[..], &["--key", "../mallory"]].concat()).assert_code(0);
    signing.verify_strictly().assert_code(1).assert_stdout_has("is not allowed");
    let none = [&args[..], &["--key", "/no/such/key"]].concat();
    call(&signing.world, &none).assert_code(2).assert_stderr_has("cannot sign with the key /no/such/key");
}
