//! One example of each kind of secret that is in use. They are random, and in pieces, so that this file contains none.

use windlass_redact::secrets::{Redactor, Rules, Scan};

/// Its kind, the text before it, the secret in pieces, the text after it.
type Example = (&'static str, &'static str, &'static [&'static str], &'static str);

#[rustfmt::skip]
const EXAMPLES: &[Example] = &[
    ("Anthropic", "ANTHROPIC_API_KEY=", &["sk-ant", "-api03-r8GwLCDNkiRe8yzyF8hYRjmFF1PP4ZQWh0DC-SN_VN", "IEMYf6-D2zuo2m06duk8_oxEsJOJIQiSDFb-0aDFLRr924-zAA"], ""),
    ("OpenAI project", "key: ", &["sk-pro", "j-FXAUBXafdeDTlM2mS_NlXLKtCa8ZVAtBXcBfwDPNj1_AY87MDRQ73S1eGSp", "QH4Mw4t6CO9bMvyrlU2VBbgbIUml8pi3zYNF7pTwM79f1Oob-CcGPngv_pZkW"], ""),
    ("OpenRouter", "", &["sk-or-", "v1-8df91302c53afd30f1a14bc1aadb7f", "7760690f92cf6cab0400ecba616c815d81"], ""),
    ("Hugging Face", "", &["hf", "_rUrXeoISrqaX0Hag", "Kdxf2WrgChdSXBEDbG"], ""),
    ("Groq", "", &["gs", "k_lqRA6rME3fLk3T7AMYsR72w7Z", "Dlq85PIHVO4FuWHBk8NFSfnmy2Y"], ""),
    ("xAI", "", &["xa", "i-Bsjv0fRyDtj5Ef2VI0YE51QOxbJ4XDXrfuhuGIz", "fnl2NA5QELmTuRzydYZgrTawArhiANxwB8lN5Fm9o"], ""),
    ("Perplexity", "", &["ppl", "x-tneJm6WhzEJHHfv9HivGrW3", "rTK1R2yNbG4v3i0gAPIwHTfoq"], ""),
    ("Replicate", "", &["r", "8_vxFwBBwlN8McLbArd", "h54oKoLRCE5egxaRZOb6"], ""),
    ("Cohere", "COHERE_API_KEY=\"", &["", "926EdFh42JIfHp0zRpnB", "3JUvrBUKgjtulmxv8LwV"], "\""),
    ("GitHub classic", "token ", &["gh", "p_0FqK3JmhQCjrHMuW1", "kBWGE9TBDPNns87YTbL"], ""),
    ("GitHub OAuth", "", &["gh", "o_hBAfHKjsAIt1kNDtE", "XOxfXT4soQXgWHZntN2"], ""),
    ("GitHub app", "", &["gh", "s_6B7pdLwYHaKz1xLBt", "r67zr5iP1G2eWi6f59b"], ""),
    ("GitHub refresh", "", &["gh", "r_canhup5hazemQXHDE", "qSmUq6Q4rKMPPSPSuNM"], ""),
    ("GitHub fine-grained", "", &["github", "_pat_O8fHvmmDmreDt6g2oOifu8_HHyknZpJpJ9zfA0", "DaqO3hiaEiVtJT4CzE5he5A9SQOX5E8sFmf64r0KACbV"], ""),
    ("GitLab personal", "", &["gl", "pat-6dWT-Mm2", "W5ZaPk36OF3R"], ""),
    ("GitLab runner", "", &["gl", "rt-9f3OC6zc", "k9BA9LpWF87Z"], ""),
    ("GitLab old runner", "", &["GR13", "489417z5BT2j", "2pDg-LXVZ-r0O"], ""),
    ("GitLab deploy", "", &["gl", "dt-IN77me33", "KMG-kLbvrDq7"], ""),
    ("GitLab feed", "", &["gl", "ft-OV32HA1D", "7Ngknz9QWYQN"], ""),
    ("GitLab trigger", "", &["gl", "ptt-8af9efc9f9fd9894e8", "85251e8b4dbf5632ebb45d"], ""),
    ("GitLab agent", "", &["gl", "agent-nxJuwd3AF6G9OV98FY_saP", "Z6TPBLXoEsV2c1e_nfIRaRNpXWuO"], ""),
    ("Bitbucket app password", "", &["AT", "BBlGHgVHo3ChLzgeo", "ZFLco73nu6dbxk2nR"], ""),
    ("npm", "", &["np", "m_8Cm88iltgPx6FxrcI", "4rCeiGp3Y9hocC9K7Ea"], ""),
    ("npm auth token", "//registry.example.org/:_auth", &["Token", "=85c91506-f9b2-0fe", "7-43d9-4676da202706"], "\n"),
    ("PyPI", "", &["pypi", "-AgEIcHlwaS5vcmcknTYLQrAWPTs0hooRona8PhfnaG", "UjGDAxspxtdXTU9luvPcBMIUWiPMZEcYGsVy91TnVZE"], ""),
    ("RubyGems", "", &["ruby", "gems_c4677b62f997bed646d83", "4bb392daebf67f4530402bb70d6"], ""),
    ("Clojars", "", &["CLO", "JARS_gntyvs2r1ts1u2lptkvktztmpwy", "x0p7omdg7bh7farfd71rp4l2jbt9kzs5l"], ""),
    ("NuGet", "<add value=\"", &["oy", "2e1fjdhw65plhw28huaa5m", "2e2dzcm9fc666rj4kt39pa"], "\""),
    ("Docker Hub", "", &["dckr", "_pat_Ce_86-lbJdb", "aP4qPyUA0a8saI21"], ""),
    ("JFrog", "", &["AK", "CpYUxxz63yzigyIuHf0ulNwHA5cfZDSqjAo", "d4l5zGJu02v6ebtyEuLfct9i1jio31cAM9lX"], ""),
    ("Sourcegraph", "", &["sg", "p_cd4514226f73081f399", "3689e7476fa0a61935c7b"], ""),
    ("SonarQube", "", &["sq", "u_0a223a9dda6a8a44408", "d16fb13c83163540252d8"], ""),
    ("Snyk", "snyk_token: ", &["", "1853b3ec-e257-2c9e", "-d919-f51b1f7d0f48"], ""),
    ("Codecov", "CODECOV_TOKEN=", &["", "6bdd4053-a7c0-a092", "-1e2a-da4257b949c5"], ""),
    ("Postman", "", &["PM", "AK-c4557e6af948197e5b2b51b9-8cc", "41a9974a59464147805e591f28a46db"], ""),
    ("AWS access key", "", &["AK", "IAT18B11U", "CEQV7ZGJO"], ""),
    ("AWS secret", "aws_secret_access_key = ", &["", "RR7xSlOK9PtJOB8AD5Ob", "N7V2cl4Zmndz7oQlsoWq"], "\n"),
    ("Google API", "", &["AI", "zaSsQwEifUXo6rz_y_", "vRqeGzqQO4YewPt2qnA"], ""),
    ("Google OAuth secret", "", &["GOC", "SPX-CobBGwuOuNnH", "z12lBewGHp6NKKGV"], ""),
    ("Google access token", "", &["ya", "29.lgnLb76i2Y785c9VA8QdZDLk6AXKjv07xqk_23gJN03mxr_hIEhbhDPGqt", "xLbbiLXvYYdFBL0pUmFmp7j4n1O4Agn0jO1g6y21Gq3MO_18rEE8BQPpCLEfqi"], ""),
    ("Azure storage", "AccountName=x;Account", &["Key=", "7y7hldVGHrSwnG1Di8EKgC+CJseOBDWtY7B9olM/9O8P", "xctpV/Rr8pHTMtuHJmHKoqdplIyPlmwW8OaAkLfFmc=="], ";"),
    ("Azure client secret", "secret = \"", &["6rA8", "Q~REgjX-3YiN92G8j0", "I-oLtibtC2R2Xi6qQq"], "\""),
    ("Alibaba", "", &["LT", "AIehV2UtaDU", "123jrHmlBk1"], ""),
    ("DigitalOcean", "", &["do", "p_v1_8e565285d39348fba544416260dfb", "c0c778c414c8a0279b23deacb269f3212ef"], ""),
    ("Cloudflare", "CLOUDFLARE_API_TOKEN=", &["", "KxUH-1kDDWERDWo1sEcH", "Php3y901Y6YJKISTuX4W"], ""),
    ("Heroku", "HEROKU_API_KEY=", &["", "4813be18-d3b1-6aaa", "-5bb0-2b9910fc49ad"], ""),
    ("Heroku new", "", &["HR", "KU-AACPZTxiBQXU1NdEHPIKMdnpl31-", "dRcpEi_DOphDULc6CDd4p1zD56zuQj6w"], ""),
    ("Vault service", "VAULT_TOKEN=", &["hv", "s.mvFfYvAZUGxcPIrcwDhee7Ou2Rgm3ddJJ0U86c9jdIw7ZL", "xLqu6VJuXSGcCBNFc6hh9mvNv75nscExaMFTgD47Qh_lS7mRj"], ""),
    ("Vault batch", "", &["hv", "b.L-GFLjJJsu9VMjiEcToAnc30PYrCtEfG9I6JfM_ow_76zc2gJ9codj0_YwMVDhQ5f-UaB", "p0QQOnWUA60u20xrENFLYosRh570K4r__wIYWOUrKub1oyEI3XFvImE5Ld9x47OuyyEZc6Y"], ""),
    ("Vault old", "VAULT_TOKEN=\"s", &[".", "rS2uTJnIV6k8", "ubKRAm3cjYDL"], "\""),
    ("Terraform Cloud", "token = \"", &["Sya8yYjieTxRAR.atl", "asv1.FAjaOIqFpIso22-Hc97ztpS2JV_1KoE", "4GMSYNAVmXz3KmvQEf5YmzMJK0WZAjeRQdE6"], "\""),
    ("Pulumi", "", &["pu", "l-a68c58817d0fafef1c4", "e9047b9f9bc438832c18f"], ""),
    ("Doppler", "", &["dp", ".pt.8rvO2tdq73ri2qv6YzX", "3C4RWlb7Bi4NA0iMKYFsXal5"], ""),
    ("Databricks", "", &["da", "pif56f0c9fe08ad19", "4f8e1c9429e9c19c2"], ""),
    ("PlanetScale", "", &["pscale", "_tkn_azt38JjEpUF6gpVh2J3", "NUuWvSBGsXAH9Scc3ujWEttH"], ""),
    ("Supabase", "", &["sb", "p_074fb485a33e3c876fd", "f628f61f4983e7ecc4ed2"], ""),
    ("Fly.io", "", &["fo", "1_0JD20KUDtUEaG9lYpZZh", "dIZI4YzL6RWJIgkzZgE3Qp5"], ""),
    ("Netlify", "NETLIFY_AUTH_TOKEN=", &["", "Ut2AKsDgF5Elov9aAJXrS", "9t6P4awB01qM-PqBRLbk8i"], ""),
    ("Tailscale", "", &["ts", "key-auth-ly57tDtFoBM6-cWFQP", "qUsS9NfwmrHnEPM9cQjo34Bc67G"], ""),
    ("Dynatrace", "", &["dt", "0c01.IY0DHSQXJ3NICAGID83RQ23Z.E9RBWH4YQMEWMVME4", "COERWIWQFPKH33E9R85JVAI9K6V0KV0Z3UM1YW8Y0PMP1I6"], ""),
    ("LaunchDarkly", "launchdarkly_api_key='", &["", "hB9Jb0xYB-Q9qkl13bw_", "ysqn3oqbduBG-T36apNf"], "'"),
    ("age", "", &["AGE-SEC", "RET-KEY-10SZS1KOV893RYLFEQJ8KPOU1", "FLQJ0X0UBMA9UTLHLXLM11VO9IA60Y48Q3"], ""),
    ("Sentry organization", "", &["snt", "rys_eyJFCbocOotfu6kJi2OCq5VE7qU5NvXE8sYdBxIovPaxJoVBWy3Tbc+hEZpF4xdSgCtcuf1", "G32kiv32NinVUZqE0/3QXE88i8DAj7Im_Xkr5x8+okVRMXg7ZCWYkN0dQXUcDdcgm/223+UeT81i"], ""),
    ("Sentry user", "", &["snt", "ryu_6b6fe7ecebf094c79cca9bb51cf5d7", "1ccaa4777b14a025dd66f4d9fe8b11fdd2"], ""),
    ("Grafana cloud", "", &["gl", "c_gZlNwapXeUrhWSHf8f7lJ7Sizefb4", "7ipaoZSI0FkavpKXHwJih0hCUpOMtTL"], ""),
    ("Grafana service account", "", &["gl", "sa_CZBu3ytjau8YLjipDZA", "uSQ95vWV6cJcJ_7b7e92c9"], ""),
    ("Datadog", "DD_API_KEY=", &["", "bcb5051a96ae2bd2", "a491f9de4a657e56"], ""),
    ("New Relic", "", &["NR", "AK-35MDOLBTTMV0", "6EXA1SO2V2EV6BS"], ""),
    ("Slack bot", "", &["xo", "xb-123456789012-1234567890", "12-TrQSmLuT2P0eK925Hz8yPFTS"], ""),
    ("Slack user", "", &["xo", "xp-123456789012-123456789012-12345678", "9012-bba570d16bba6283946577f574bbcd50"], ""),
    ("Slack app", "", &["xa", "pp-1-A0B1C2D3E4F-1234567890123-7f0a901e28eb2565", "8087d405d22c7bd42f56581dc1bb62842672a0f791a42f74"], ""),
    ("Slack webhook", "https://hooks.slack", &["", ".com/services/T0AB1CD2E/B0AB1", "CD2E/Xv4ZxmaQ5zMyJdfd3inW0C7u"], ""),
    ("Discord bot", "DISCORD_TOKEN=", &["MFm49rPkzyIO2NEt7I9q22bO.", "Za3Iv9.pM3bs4ozgID-Ffp", "-IR0636MOyzNVm13IWi8GCb"], ""),
    ("Discord webhook", "https://discord", &["", ".com/api/webhooks/123456789012345678/8ELWBsW-0Gm3z_f", "J-WvRbeo3S8M5IbiB60FU3HYCj5dyXqqONKN8EzV63SH_uBubzwwh"], ""),
    ("Telegram", "https://api.telegram.org/bot", &["123456789", ":AAbfrSsYO2unszQEE", "SZaNj_ViuoLUNprlU1"], "/getMe"),
    ("SendGrid", "", &["SG", ".NZ7emk1wAwwZ71g_O3k3DR.0Milmi_EU", "hvWHZsOSIQvFnxxtsWpXvS4Bd44ASkUR2E"], ""),
    ("Mailgun", "", &["ke", "y-58f2974b86a3372", "9e369108b032e564c"], ""),
    ("Mailchimp", "MAILCHIMP_API_KEY=", &["", "e3a4021e8d985bae60", "235f4fde679651-us12"], ""),
    ("Brevo", "", &["xkey", "sib-84b9dd3fd7cc5b874d69d637374712341bdc1f", "78ca7f50ebac98e63f45c9d4e5-3mdd5sSK5JPDdlYi"], ""),
    ("Atlassian", "", &["ATA", "TT3xFfGF0BtSkCagkRgvHQLZAoGPu3SOSdbdcxUibK0leMRYYLSrJVF29msgaPQs06u_lqZquKjFVid89dD1Nw2-trgifc", "AOOa23O0hUKy1sOGf0SldIdk7PbdIr5bKdPZkbT4fJc0uGy0jEdPpBxXGpJW4iz-Ze9hdg8FiDo9cCwc_lzY8=OFJVMZ89"], ""),
    ("Jira", "JIRA_API_TOKEN=", &["", "sZjiNuhkkdkm", "rwLbbTMYB1PK"], ""),
    ("Trello", "", &["AT", "TA5a46659a2b78d149ccce39e817c026abe47", "eec46e35cef272f90fd938d5beb1fD0A8BMUK"], ""),
    ("Linear", "", &["lin", "_api_86loG3Q961KwvVvzV", "pcqffjETzI096LwsPNZxGBs"], ""),
    ("Notion", "", &["nt", "n_cQeWo3olVw68KquQ6oYhKI", "i6bnDrTgtUCQ40zRfN6zTMvl"], ""),
    ("Airtable", "", &["pa", "t42pFYwNQhrIokV.9d617df38a1ef5e7e1576ccb", "27cc9030235ca64cf25a31b178e819daef5f6270"], ""),
    ("Figma", "", &["fi", "gd_xEE0EVeomOQdWW2rJr", "RGzRGEReOFAvkbh4KYB1SE"], ""),
    ("HubSpot", "", &["pat", "-na1-f4915209-25ed-5", "3ac-383a-dbbe9ac4725e"], ""),
    ("Dropbox", "", &["s", "l.llwmjPC8WXMvwAYvEXSzqS1JH7rpHg5JIhemymoj3evUG4tzfEKhPN-qosIDf5eAV8", "D8E8Brzomb8r_nkZhknVqNAUhG6EAsg4HG-ocVQsWJoN_7Y4cAwDbgT2S204Sz4tcBVx5"], ""),
    ("Facebook", "", &["EA", "ACs3q1JyXkQz6JacuQnfPLIFRtr0m5QAC5Z377M9HnE8Nqyr6IXO3JAfL8jyk", "OuKR76ONgUUwChs3aK0sKKHV3ZVd2ojgKfrPeuLQaYKmdWvftGPQoE6YOAJvB"], ""),
    ("Mapbox", "", &["sk", ".eyJ1rDz3WcfwUWhfWkQBBz9ZFqM1V0Y3uPTEbdsiXikJ2cQJS3IoN", "hdgeBToR58DpCorRIGJI4CmqRgiRHQR.FazlgSG8gaHBwsjXK_gz9M"], ""),
    ("Stripe live", "", &["sk", "_live_JEPoJtfVM", "e9Abc9asT3pEfUF"], ""),
    ("Stripe restricted", "", &["rk", "_live_AoWVHhbnP", "Nswszq0qEoFyNiU"], ""),
    ("Square", "", &["sq0", "atp-M2SKGAWzU", "KT4b2MptIOQF8"], ""),
    ("Shopify", "", &["shp", "at_6f3f7f310b06b1", "e44c06eb636b8478f3"], ""),
    ("Shippo", "", &["ship", "po_live_8f883b69839b5aed", "787b68916d68462a7b6e3948"], ""),
    ("EasyPost", "", &["EZ", "AKaW0Kf6iqh0OR4kZyTJhGIsqwPU", "lUrEwBxSUOckKuFodPsq4WvptmUz"], ""),
    ("Plaid", "", &["access-", "production-d2f4bb97-49c", "2-cb17-d445-e3494c5b0f44"], ""),
    ("Twitter", "TWITTER_API_SECRET=", &["", "GcrbtC5LkQ07WokulQ2EFnZol", "TCIl8qhdQ8J0k2swbn9MomOKD"], ""),
    ("OpenShift", "", &["sha", "256~Vv_mX_RLbpWUFxqN9AW", "BnSzuct9SFyaKw0t8vkhqM1O"], ""),
    ("JSON web token", "", &["ey", "JzUwJiuVT2wFyLNZmhpZI2OR6fem6fEEJd.eyJl4D6tC4B1xqloIvRKwz8FxCOAmXkhdtlS", "72M9RDgBKWFYrSgv2qT4iEmx9YN.sbowhM9nolD_rjx2c62pMcwXRyGbUTuKPPiuNNLD0C3"], ""),
    ("Connection password", "postgres://app:", &["", "ZCNKDbl8", "2GVgplXW"], "@db.internal/x"),
    ("Bearer", "Authorization: Bearer ", &["", "ZRSVmdEgn0ShiDHq", "UgI2142yebcECpVl"], ""),
];

/// The end of a secret, which is never left.
fn end(pieces: &[&str]) -> String {
    let secret = pieces.concat();
    secret[secret.len() - secret.len().min(12)..].to_owned()
}

#[test]
// promise: safety-5
fn every_kind_is_redacted_and_held_back() {
    let rules = Rules::default();
    let missed: Vec<&str> = EXAMPLES
        .iter()
        .filter(|(_, before, pieces, after)| {
            let text = format!("a line\n{before}{}{after} and more\n", pieces.concat());
            let mut scan = Scan::new(rules.clone());
            scan.push(text.as_bytes());
            rules.text(&text).contains(&end(pieces)) || scan.finish().is_empty()
        })
        .map(|(kind, ..)| *kind)
        .collect();
    assert!(EXAMPLES.len() > 95 && missed.is_empty(), "{} of {}: {missed:?}", missed.len(), EXAMPLES.len());
}

#[test]
fn secrets_glued_to_other_characters_are_seen() {
    let rules = Rules::default();
    let mut missed = Vec::new();
    for (kind, before, pieces, after) in EXAMPLES.iter().filter(|(_, before, ..)| before.is_empty()) {
        for glue in ["-", "_", "/", "=", "prod-", "my_"] {
            let text = format!("{before}{glue}{}{after}", pieces.concat());
            if rules.text(&text).contains(&end(pieces)) {
                missed.push(format!("{glue}{kind}"));
            }
        }
    }
    assert_eq!(missed, [""; 0]);
    // After a letter, only distinctive prefixes: many words end with `sk-`.
    let letters: Vec<&str> = EXAMPLES
        .iter()
        .filter(|(_, before, pieces, _)| {
            before.is_empty() && rules.text(&format!("x{}", pieces.concat())).contains(&end(pieces))
        })
        .map(|(kind, ..)| *kind)
        .collect();
    assert!(letters.len() <= 16, "{letters:?}");
    assert!(!letters.iter().any(|kind| kind.starts_with("Git") || kind.starts_with("AWS")), "{letters:?}");
}

#[test]
fn every_kind_is_redacted_in_any_pieces() {
    let rules = Rules::default();
    for (kind, before, pieces, after) in EXAMPLES {
        let text = format!("{before}{}{after}\n", pieces.concat());
        let whole = rules.text(&text).into_owned();
        for size in [1, 3, 17, 64] {
            let mut redactor = Redactor::new(rules.clone());
            let mut out = Vec::new();
            text.as_bytes().chunks(size).for_each(|chunk| out.extend_from_slice(redactor.push(chunk)));
            out.extend_from_slice(redactor.finish());
            assert_eq!(String::from_utf8_lossy(&out), whole, "{kind} in pieces of {size}");
        }
    }
}
