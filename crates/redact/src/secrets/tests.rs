//! Secrets of every shape, in pieces of every size, and what only looks like one.

use super::*;

const ANTHROPIC: &str = "sk-ant-api03-aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z";
const GITHUB: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
const JWT: &str =
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U";

fn pem() -> String {
    let line = "MIIEpAIBAAKCAQEA75iDQ8gcs6q8aFJ3pM5b1FtX9Yd7zQmCw0aBcDeFgHiJkLmN";
    format!("-----BEGIN RSA PRIVATE KEY-----\n{line}\n{line}\n-----END RSA PRIVATE KEY-----")
}

fn rules() -> Rules {
    let known = [
        ("DB_PASSWORD", "hunter2hunter2"),
        ("QUOTED", "with\"quote\\and\nline"),
        ("LONG_TOKEN", "tok-0123456789-abcdefghijklmnopqrstuvwxyz-0123456789"),
        ("LIKE_A_KEY", "sk-proj-aB3dE5fG7hJ9kL1mN3pQ5rS7"),
    ];
    Rules::new(&known.map(|(name, value)| KnownSecret::new(name, value).unwrap()))
}

fn clean(text: &str) -> String {
    rules().text(text).into_owned()
}

fn streamed(rules: &Rules, bytes: &[u8], size: usize) -> Vec<u8> {
    let mut redactor = Redactor::new(rules.clone());
    let mut out = Vec::new();
    for chunk in bytes.chunks(size) {
        out.extend_from_slice(redactor.push(chunk));
    }
    out.extend_from_slice(redactor.finish());
    out
}

#[test]
fn keys_are_known_by_their_shape() {
    let slack = format!("xox{}-2345678901-abcdefGHIJKL", 'b');
    for (text, expected) in [
        (format!("key {ANTHROPIC}."), "key [redacted:anthropic-key].".to_owned()),
        (format!("GITHUB_TOKEN={GITHUB}\n"), "GITHUB_TOKEN=[redacted:github-token]\n".to_owned()),
        (format!("{{\"a\":\"x\\n{GITHUB}\"}}"), "{\"a\":\"x\\n[redacted:github-token]\"}".to_owned()),
        ("AKIAIOSFODNN7REALKEY x".to_owned(), "[redacted:aws-key] x".to_owned()),
        (format!("'{slack}'"), "'[redacted:slack-token]'".to_owned()),
        (format!("{JWT} "), "[redacted:jwt] ".to_owned()),
        (
            "Authorization: Basic dXNlcjpwYXNzMTIzNDU=\n".to_owned(),
            "Authorization: Basic [redacted:authorization]\n".to_owned(),
        ),
        (
            "\"authorization\": \"Bearer abc123def456ghi789\"".to_owned(),
            "\"authorization\": \"Bearer [redacted:authorization]\"".to_owned(),
        ),
        ("curl -H 'x-api-key: 0123456789abcdef01'".to_owned(), "curl -H 'x-api-key: [redacted:api-key]'".to_owned()),
        (
            "postgres://app:s3cr3t-pw-9@db.internal:5432/x".to_owned(),
            "postgres://app:[redacted:password]@db.internal:5432/x".to_owned(),
        ),
        (
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzzzz\n".to_owned(),
            "aws_secret_access_key = [redacted:aws-secret]\n".to_owned(),
        ),
        ("AIzaSyA-1234567890abcdefghijklmnopqrstu,".to_owned(), "[redacted:google-key],".to_owned()),
        ("sk-0123456789abcdef0123456789abcdef".to_owned(), "[redacted:openai-key]".to_owned()),
        // Without a digit.
        (format!("'hf_{}'", "EHpJpbATPtdbmFRPAfqoQBxoFcSvTAxRzm"), "'[redacted:huggingface-token]'".to_owned()),
        (
            format!("vercel_blob_rw_{}", "Ab1Cd2Ef3Gh4Ij5K_Lm6No7Pq8Rs9Tu0VwXyZaBcDeFgHi1"),
            "[redacted:vercel-token]".to_owned(),
        ),
        (
            format!("INFISICAL_TOKEN=st.{0}.{0}.{0}\n", "0a1b2c3d4e5f60718293a4b5"),
            "INFISICAL_TOKEN=[redacted:infisical-token]\n".to_owned(),
        ),
    ] {
        assert_eq!(clean(&text), expected);
    }
}

#[test]
fn every_line_of_the_shapes_is_read_and_triggers_are_long_enough_to_be_rare() {
    assert!(SHAPES.len() > 200, "{}", SHAPES.len());
    let short: Vec<&str> = SHAPES.iter().map(|shape| shape.trigger.as_str()).filter(|one| one.len() < 3).collect();
    assert_eq!(short, [""; 0]);
}

#[test]
fn names_of_variables_are_read_in_any_case_and_their_values_alone_go() {
    let value = ["0a1b2c3d4e5f60718", "293a4b5c6d7e8f9"].concat();
    for name in
        ["DATADOG_API_KEY=", "datadog_api_key = ", "\"DataDogApiKey\": \"", "Datadog-Api-Key: ", "datadogToken => '"]
    {
        assert_eq!(clean(&format!("{name}{value}\n")), format!("{name}[redacted:datadog-key]\n"));
    }
    for text in
        [format!("datadog_region={value}\n"), format!("datadog {value}\n"), "datadog_api_key=env(DATADOG)".into()]
    {
        assert_eq!(clean(&text), text);
    }
}

#[test]
fn private_keys_go_whole_also_inside_json() {
    let pem = pem();
    assert_eq!(clean(&format!("a\n{pem}\nb")), "a\n[redacted:private-key]\nb");
    let json = serde_json::json!({ "key": pem, "next": "kept" }).to_string();
    let read: serde_json::Value = serde_json::from_str(&clean(&json)).unwrap();
    assert_eq!(read, serde_json::json!({ "key": "[redacted:private-key]", "next": "kept" }));
    // One whose end is missing takes only what looks like a key.
    let cut: String = pem.chars().take(120).collect();
    let json = serde_json::json!({ "key": cut, "next": "kept" }).to_string();
    let read: serde_json::Value = serde_json::from_str(&clean(&json)).unwrap();
    assert_eq!(read["next"], "kept");
    let quoted = serde_json::json!({ "key": format!("\"{cut}\" and more") }).to_string();
    let read: serde_json::Value = serde_json::from_str(&clean(&quoted)).unwrap();
    assert_eq!(read["key"], "\"[redacted:private-key]\" and more");
}

#[test]
fn values_are_known_by_their_names_also_as_json_has_them() {
    assert_eq!(clean("pw=hunter2hunter2!"), "pw=[redacted:DB_PASSWORD]!");
    let value = "with\"quote\\and\nline";
    assert_eq!(clean(value), "[redacted:QUOTED]");
    let json = serde_json::json!({ "out": value }).to_string();
    assert_eq!(clean(&json), r#"{"out":"[redacted:QUOTED]"}"#);
    let nested = serde_json::json!({ "out": json }).to_string();
    assert_eq!(clean(&nested), r#"{"out":"{\"out\":\"[redacted:QUOTED]\"}"}"#);
    // A value that looks like a key is called by its name.
    assert_eq!(clean("sk-proj-aB3dE5fG7hJ9kL1mN3pQ5rS7"), "[redacted:LIKE_A_KEY]");
    assert!(KnownSecret::new("PASSWORD", "short12").is_none());
}

#[test]
fn ordinary_text_is_left_alone() {
    for text in [
        "commit 6cf3e72f0a1b2c3d4e5f60718293a4b5c6d7e8f9",
        "019d2a5e-7c31-7b6a-9f00-1234567890ab",
        "sha512-oJ2n1Y9xQv3l0aWbT8uQ7cVw5eXyZ1aB2cD3eF4gH5iJ6kL7mN8oP9qR0sT1uV2wX3yZ4==",
        "checksum = \"c982642fa9e8606056828ee9a8505737230110bb1099153c79efe865c59d12ba\"",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
        "task-force-one-hundred-and-twenty-three-ABC",
        "class=\"sk-toggleable__content-arrow-1\"",
        "http://localhost:8080/path@x",
        "https://example.com/a:b@c",
        "postgres://user:password@localhost/db",
        "postgres://user:${DB_PASSWORD_VALUE}@db.internal/x",
        "mysql://root:changeme@db.internal/x",
        "The header starts with -----BEGIN RSA PRIVATE KEY----- and then the key follows in base64 lines",
        "if line.starts_with(\"-----BEGIN PRIVATE KEY-----\\n\") { return true }",
        "Authorization: Bearer $TOKEN",
        "Authorization: required",
        "Bearer authentication is used here 2",
        "gpt-5-codex claude-opus-4-5-20251101 session 01a1e247-12ee-7600-bc9c-13803046d210",
        "AKIA is a prefix",
        "npm_config_registry",
        "hf_hub_download_with_a_long_name_indeed",
        "eyJ is how a token begins",
        "arn:aws:iam::123456789012:role/ASIAPACIFICREGIONALROLE1234567",
        "SG.strings",
        "ghp_ and gho_ are prefixes",
    ] {
        assert_eq!(clean(text), text);
    }
}

#[test]
fn it_does_not_matter_where_a_stream_is_cut() {
    let text = format!(
        "start {ANTHROPIC} mid {GITHUB}\n{{\"k\":\"{JWT}\"}}\n{}\npw hunter2hunter2 tok-0123456789-abcdefghijklmnopqrstuvwxyz-0123456789 \
         sk-proj-aB3dE5fG7hJ9kL1mN3pQ5rS7 sk- sk-proj postgres://app:s3cr3t-pw-9@db.internal:5432/x uthorization: Bearer \
         abc123def456ghi789jkl tok-0123456789-abcdefghijklmnop ghp_short -----BEGIN PRIVATE KEY----- eyJhbGciOiJ. AKIA1234 {}",
        pem(),
        serde_json::json!({ "p": pem(), "q": "with\"quote\\and\nline" }),
    );
    let rules = rules();
    let whole = rules.text(&text).into_owned();
    assert_eq!(whole.matches("[redacted:").count(), 11, "{whole}");
    for size in 1..text.len() {
        let out = streamed(&rules, text.as_bytes(), size);
        assert_eq!(String::from_utf8(out).unwrap(), whole, "in chunks of {size}");
    }
}

#[test]
fn a_stream_that_never_ends_a_token_keeps_little_back() {
    let rules = Rules::default();
    let mut redactor = Redactor::new(rules);
    let mut out = redactor.push(b"eyJ").to_vec();
    for _ in 0..64 {
        out.extend_from_slice(redactor.push(&[b'a'; 1024]));
    }
    assert!(out.len() > 60 * 1024, "{} bytes came out", out.len());
    // A token without end is dropped as it comes.
    let mut redactor = Redactor::new(Rules::default());
    let mut out = redactor.push(b"ghp_").to_vec();
    for _ in 0..64 {
        out.extend_from_slice(redactor.push(&[b'a'; 1024]));
    }
    out.extend_from_slice(redactor.finish());
    assert_eq!(out, b"[redacted:github-token]");
}

#[test]
fn a_line_goes_out_when_it_is_whole() {
    let mut redactor = Redactor::new(rules());
    let line = b"{\"type\":\"text\",\"text\":\"s\"}\n";
    assert_eq!(redactor.push(line), line);
    assert_eq!(redactor.push(b"no newline s"), b"no newline ");
    assert_eq!(redactor.push(b"o\n"), b"so\n");
}

#[test]
fn a_dotenv_file_tells_its_secrets() {
    let text = "# c\nPORT=8080\nexport API_KEY=\"abcdefgh1234\" # x\nDB_PASSWORD='quoted value'\nAPP_TOKEN=plain-token-1 # c\n\
                EMPTY_TOKEN=\nSHORT_SECRET=abc\nDATABASE_URL=postgres://localhost/x\nTOKEN_FILE=/run/secret\nREF_TOKEN=$OTHER_ONE\n";
    let known: Vec<_> = in_dotenv(text).into_iter().map(|secret| (secret.name, secret.value)).collect();
    let expected = [("API_KEY", "abcdefgh1234"), ("DB_PASSWORD", "quoted value"), ("APP_TOKEN", "plain-token-1")];
    assert_eq!(known, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!(format!("{:?}", in_dotenv(text)[0]), "KnownSecret(API_KEY)");
}

proptest::proptest! {
    #[test]
    fn any_text_in_any_cut_is_the_same(
        parts in proptest::collection::vec(proptest::sample::select(vec![
            "sk-", "sk-ant-", "ghp_", "eyJ", ".eyJ", "://", ":", "@", "-----", "BEGIN ", "PRIVATE KEY", "END", "\n", "\\n",
            "aB3dE5fG7hJ9kL1mN3pQ", "0123456789abcdef", "hunter2", "tok-0123456789-abcdefghij", "uthorization", "Bearer ",
            " ", "\"", "\\", "AKIA", "é", "x-api-key",
        ]), 0..40),
        size in 1_usize..40,
    ) {
        static RULES: std::sync::LazyLock<Rules> = std::sync::LazyLock::new(rules);
        let text: String = parts.concat();
        let rules = RULES.clone();
        let whole = rules.text(&text).into_owned();
        proptest::prop_assert_eq!(String::from_utf8(streamed(&rules, text.as_bytes(), size)).unwrap(), whole);
    }
}
