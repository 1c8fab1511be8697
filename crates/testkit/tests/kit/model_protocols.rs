//! The scripted model by itself: each API streams and answers whole, scripts choose by prompt, gates hold what
//! follows, failures have each vendor's shape. No CLI and no node is needed here.

use crate::client::{APIS, Api, post, post_to_cut};
use serde_json::json;
use windlass_testkit::model::{Answered, ModelServer, Script};

#[test]
fn every_api_streams_text_and_a_call_of_its_own_shell_tool() {
    let server = ModelServer::with_toml(
        r#"[[turn]]
        steps = [{ say = "I will look at it now.", shell = "ls -l" }, { say = "Done." }]"#,
    );
    for api in APIS {
        let first = post(&server, api, &api.request(&["fix it"], 0, true));
        assert_eq!(first.status, 200, "{api:?}");
        assert_eq!(api.text(&first.body), "I will look at it now.", "{api:?}\n{}", first.body);
        assert_eq!(api.command(&first.body).as_deref(), Some("ls -l"), "{api:?}\n{}", first.body);
        let second = post(&server, api, &api.request(&["fix it"], 1, true));
        assert_eq!(api.text(&second.body), "Done.", "{api:?}");
        assert_eq!(api.command(&second.body), None, "{api:?}");
    }
    assert_eq!(server.work().len(), 2 * APIS.len());
}

#[test]
fn every_api_also_answers_whole() {
    let server = ModelServer::with_toml("[[turn]]\nsteps = [{ say = \"Done.\" }]");
    for api in APIS {
        let answer = post(&server, api, &api.request(&["fix it"], 0, false));
        assert_eq!(answer.status, 200);
        assert!(!answer.body.contains("data:"), "{api:?}\n{}", answer.body);
        assert!(answer.body.contains("Done."), "{api:?}\n{}", answer.body);
    }
}

#[test]
fn the_number_of_prompts_chooses_the_turn_unless_a_text_does() {
    let server = ModelServer::with_toml(
        r#"
        [[turn]]
        steps = [{ say = "too early" }]
        [[turn]]
        steps = [{ say = "second" }]
        [[turn]]
        contains = "review"
        steps = [{ say = "it is good" }]
        "#,
    );
    for api in APIS {
        let said = |prompts: &[&str]| api.text(&post(&server, api, &api.request(prompts, 0, true)).body);
        assert_eq!(said(&["go"]), "too early", "{api:?}");
        assert_eq!(said(&["go", "on"]), "second", "{api:?}");
        assert_eq!(said(&["go", "on", "still"]), "second", "{api:?}");
        assert_eq!(said(&["please review"]), "it is good", "{api:?}");
    }
}

#[test]
fn counted_starts_see_a_fresh_session_with_the_same_prompt_but_no_retry() {
    let server = ModelServer::with_toml(
        r#"
        select = "starts"
        [[turn]]
        steps = [{ fail = "server_error", times = 1, say = "one" }]
        [[turn]]
        steps = [{ say = "two" }]
        "#,
    );
    let request = Api::Chat.request(&["same"], 0, true);
    assert_eq!(post(&server, Api::Chat, &request).status, 500);
    assert_eq!(Api::Chat.text(&post(&server, Api::Chat, &request).body), "one");
    assert_eq!(Api::Chat.text(&post(&server, Api::Chat, &request).body), "two");
}

#[test]
fn what_follows_a_gate_waits_for_it() {
    let server = ModelServer::with_toml("[[turn]]\nsteps = [{ say = [\"before \", { gate = \"go\" }, \"after\"] }]");
    for api in APIS {
        std::thread::scope(|scope| {
            let answer = scope.spawn(|| post(&server, api, &api.request(&["x"], 0, true)));
            server.wait_reached("go");
            if api == APIS[0] {
                assert!(!answer.is_finished());
                server.open_gate("go");
            }
            let body = answer.join().expect("the client does not panic").body;
            assert_eq!(api.text(&body), "before after", "{api:?}");
        });
    }
}

#[test]
fn a_server_that_ends_lets_go_of_who_waits_at_a_gate() {
    let server = ModelServer::with_toml("[[turn]]\nsteps = [{ hold = \"never\", say = \"x\" }]");
    let url = server.url();
    let client = std::thread::spawn(move || post_to_cut(&url, Api::Chat, &Api::Chat.request(&["x"], 0, true)));
    server.wait_reached("never");
    drop(server);
    assert_eq!(client.join().expect("the client does not panic"), "");
}

#[test]
fn a_cut_answer_lacks_its_end_and_the_next_one_is_whole() {
    let server = ModelServer::with_toml("[[turn]]\nsteps = [{ say = \"half\", cut = true, times = 1 }]");
    let request = Api::Anthropic.request(&["x"], 0, true);
    let cut = post_to_cut(&server.url(), Api::Anthropic, &request);
    assert!(cut.contains("half") && !cut.contains("message_stop") && !cut.ends_with("0\r\n\r\n"), "{cut}");
    assert!(post(&server, Api::Anthropic, &request).body.contains("message_stop"));
}

#[test]
fn failures_have_the_shape_of_each_vendor() {
    let kinds = [
        ("rate_limit", [429, 429, 429, 429]),
        ("usage_limit", [429, 429, 429, 429]),
        ("quota", [400, 429, 429, 429]),
        ("server_error", [500, 500, 500, 500]),
        ("overloaded", [529, 503, 503, 503]),
        ("auth", [401, 401, 401, 400]),
        ("permission", [403, 403, 403, 403]),
        ("overflow", [400, 400, 400, 400]),
        ("model_not_found", [404, 404, 404, 404]),
        ("bad_request", [400, 400, 400, 400]),
    ];
    for (kind, statuses) in kinds {
        let server = ModelServer::with_toml(&format!(
            "[[turn]]\nsteps = [{{ fail = {{ kind = \"{kind}\", retry_after_s = 7, reset_in_s = 90 }} }}]"
        ));
        for (api, status) in APIS.into_iter().zip(statuses) {
            let answer = post(&server, api, &api.request(&["x"], 0, true));
            assert_eq!(answer.status, status, "{kind} {api:?}");
            assert!(answer.head.contains("retry-after: 7\r\n"), "{}", answer.head);
            let body: serde_json::Value = serde_json::from_str(&answer.body).expect("an error is JSON");
            assert!(body["error"]["message"].is_string(), "{body}");
        }
        assert!(server.work().iter().all(|seen| seen.answer == Answered::Fail));
    }
}

#[test]
fn a_limit_says_when_it_resets_in_the_words_of_its_vendor() {
    let server = ModelServer::with_toml("[[turn]]\nsteps = [{ fail = { kind = \"usage_limit\", reset_in_s = 90 } }]");
    let request = |api: Api| post(&server, api, &api.request(&["x"], 0, true));
    assert!(request(Api::Anthropic).head.contains("anthropic-ratelimit-unified-reset: "));
    assert!(request(Api::Responses).body.contains("\"resets_in_seconds\":90"));
    assert!(request(Api::Gemini).body.contains("\"retryDelay\":\"90s\""));
}

#[test]
fn a_failure_lasts_as_often_or_as_long_as_the_script_says() {
    let server = ModelServer::with_toml(
        r#"
        [[turn]]
        steps = [{ fail = "rate_limit", times = 2, say = "at last" }]
        [[turn]]
        steps = [{ fail = "rate_limit", until = "calm", say = "calm" }]
        "#,
    );
    let status = |prompts: &[&str]| post(&server, Api::Chat, &Api::Chat.request(prompts, 0, true)).status;
    assert_eq!([status(&["a"]), status(&["a"]), status(&["a"])], [429, 429, 200]);
    assert_eq!([status(&["a", "b"]), status(&["a", "b"]), status(&["a", "b"])], [429, 429, 429]);
    server.open_gate("calm");
    assert_eq!(status(&["a", "b"]), 200);
}

#[test]
fn a_failure_can_come_inside_a_stream_that_began_well() {
    let server = ModelServer::with_toml("[[turn]]\nsteps = [{ fail = { kind = \"overflow\", in_stream = true } }]");
    for api in APIS {
        let answer = post(&server, api, &api.request(&["x"], 0, true));
        assert_eq!(answer.status, 200);
        assert!(answer.body.contains("\"error\""), "{api:?}\n{}", answer.body);
    }
    let body = post(&server, Api::Responses, &Api::Responses.request(&["x"], 0, true)).body;
    assert!(body.contains("response.failed") && body.contains("context_length_exceeded"), "{body}");
}

#[test]
fn requests_without_tools_are_answered_apart() {
    let server = ModelServer::with_toml("apart = \"A title\"\n[[turn]]\nsteps = [{ fail = \"auth\" }]");
    for api in APIS {
        let mut request = api.request(&["name this"], 0, true);
        request.as_object_mut().expect("it is one").remove("tools");
        assert_eq!(api.text(&post(&server, api, &request).body), "A title", "{api:?}");
    }
    assert!(server.work().is_empty());
    assert_eq!(server.requests().len(), APIS.len());
}

#[test]
fn requests_apart_can_be_made_to_fail_as_well() {
    let server = ModelServer::with_toml("apart_fail = \"auth\"\n[[turn]]\nsteps = [{ say = \"x\" }]");
    let mut request = Api::Chat.request(&["name this"], 0, true);
    request.as_object_mut().expect("it is one").remove("tools");
    assert_eq!(post(&server, Api::Chat, &request).status, 401);
    assert_eq!(server.requests()[0].answer, Answered::Apart);
}

#[test]
fn tokens_are_counted_and_other_paths_are_logged() {
    let server = ModelServer::with_toml("[[turn]]\nsteps = [{ say = \"x\" }]");
    let count = crate::client::post_path(&server.url(), "/v1/messages/count_tokens", &json!({}));
    assert!(count.body.contains("\"input_tokens\":1200"), "{}", count.body);
    let count = crate::client::post_path(&server.url(), "/v1beta/models/g:countTokens", &json!({}));
    assert!(count.body.contains("\"totalTokens\":1200"), "{}", count.body);
    assert_eq!(crate::client::post_path(&server.url(), "/v1/telemetry", &json!({})).status, 404);
    let paths: Vec<(String, Answered)> = server.requests().into_iter().map(|s| (s.path, s.answer)).collect();
    assert_eq!(paths[2], ("/v1/telemetry".to_owned(), Answered::Other));
}

#[test]
fn what_the_requests_asked_is_on_record() {
    let server = ModelServer::with_toml("[[turn]]\nsteps = [{ say = \"x\" }]");
    for api in APIS {
        post(&server, api, &api.request(&["first", "second"], 0, true));
        let seen = server.wait_request(|s| s.path == api.path());
        let asked = seen.asked.expect("it is a model's path");
        assert_eq!(asked.prompts, ["first", "second"], "{api:?}");
        assert_eq!(asked.tools.len(), 1);
        assert_eq!(asked.model, "m");
    }
}

#[test]
fn mistakes_in_scripts_are_named() {
    let bad =
        |steps: &str| Script::from_toml(&format!("[[turn]]\nsteps = [{steps}]")).map(|_| ()).unwrap_err().to_string();
    assert!(bad("{ sya = \"x\" }").contains("sya"));
    assert_eq!(bad("{ say = \"x\" }, {}"), "turn 1, step 2: it does nothing");
    assert_eq!(bad("{ say = \"x\", times = 1 }"), "turn 1, step 1: `times` and `until` need `fail` or `cut`");
    assert!(bad("{ fail = \"auth\", say = \"x\" }").contains("it always fails"));
    assert!(bad("{ fail = \"auht\" }").contains("auht"));
}

#[test]
fn a_changed_script_answers_from_its_beginning() {
    let server = ModelServer::with_toml("[[turn]]\nsteps = [{ fail = \"overloaded\", times = 1, say = \"old\" }]");
    for api in APIS {
        server.change_script("[[turn]]\nsteps = [{ fail = \"overloaded\", times = 1, say = \"new\" }]");
        let failed = post(&server, api, &api.request(&["x"], 0, true));
        assert!(failed.status >= 500, "{api:?}: what the last script had failed is forgotten");
        let body = post(&server, api, &api.request(&["x"], 0, true)).body;
        assert_eq!(api.text(&body), "new", "{api:?}");
    }
}

#[test]
fn a_turn_can_be_for_one_model() {
    let script = "[[turn]]\nmodel = \"nobody\"\nsteps = [{ say = \"not me\" }]\n[[turn]]\nsteps = [{ say = \"all\" }]";
    for api in APIS {
        let server = ModelServer::with_toml(script);
        let asked = |server: &ModelServer| {
            let body = post(server, api, &api.request(&["x"], 0, true)).body;
            api.text(&body)
        };
        assert_eq!(asked(&server), "all", "{api:?}");
        let model = server.work()[0].asked.as_ref().expect("a request for work").model.clone();
        server.change_script(&script.replace("nobody", &model));
        assert_eq!(asked(&server), "not me", "{api:?}");
    }
}
