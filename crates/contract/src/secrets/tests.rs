use super::*;
use proptest::prelude::*;

const HEX_32: &str = "0123456789abcdef0123456789abcdef";

/// Kept in parts, so that scanners of the repository stay quiet. All values are made up.
const CASES: &[(&[&str], Option<&str>)] = &[
    (&["AKIA", "ABCDEFGHIJKLMNOP"], Some("aws_access_key_id")),
    (&["sk-", "ant-api03-", "a1B2c3D4e5F6g7H8i9J0k1L2"], Some("anthropic_api_key")),
    (&["sk-", "proj-", "a1B2c3D4e5F6g7H8i9J0"], Some("openai_api_key")),
    (&["gh", "p_", "0123456789abcdefghijABCDEFGHIJ012345"], Some("github_token")),
    (&["xox", "b-", "123456789012-abcdef"], Some("slack_token")),
    (&["-----BEGIN RSA ", "PRIVATE KEY-----\nMIIE cut off"], Some("private_key_block")),
    (&["ey", "JhbGciOiJIUzI1NiJ9", ".ey", "JzdWIiOiIxMjM0NTY3ODkwIn0", ".abcdefghijklmnop"], Some("jwt")),
    (&["Authorization: Bearer ", "0123456789abcdef0123"], Some("bearer_token")),
    (&["postgres://svc:", "pa55word", "@db/x"], Some("url_credentials")),
    (&["DB_PASS", "WORD=hunter2!"], Some("credential_assignment")),
    (&["\"pass", "word\": \"c0rrect-horse\""], Some("credential_assignment")),
    (&["my-api-key = ", "abcdefabcdefab"], Some("credential_assignment")),
    (&["k_", "gh", "p_", "0123456789abcdefghijABCDEFGHIJ012345"], Some("github_token")),
    (
        &["MIIEpAIBAAKCAQEA7bq0\nMIIEpAIBAAKCAQEA7bq0\nx9A=\n-----END RSA ", "PRIVATE KEY-----"],
        Some("private_key_block"),
    ),
    (&["a line\n-----END RSA ", "PRIVATE KEY-----"], None),
    (&["task-with-a-name-that-is-long-enough and risk-of-something-that-is-long"], None),
    (&["01ARZ3NDEKTSV4A3TRFFQ69G5FAV0A"], None),
    (&["writ", "_", "0f3zk9", "_", HEX_32, HEX_32], Some("writ_access_token")),
    (&["7", "-", HEX_32, HEX_32], Some("writ_assignment_token")),
    (&["WRIT_ASSIGNMENT is 12", "-", HEX_32, HEX_32, "."], Some("writ_assignment_token")),
    (&["sha256:", HEX_32, HEX_32], None),
    (&["sha256-", HEX_32, HEX_32], None),
    (&["object 7-", HEX_32], None),
    (&["2026-11-17 01-02-03"], None),
    (&["the tool writ_task_get of T-1"], None),
    (&["Refreshed the token cache; no conflicts"], None),
    (&["token: refreshed"], None),
    (&["the secret: unlock the door"], None),
    (&["edited src/auth/token.py and secrets.md"], None),
    (&["run 3f56dc4d-35cf-4f97-925c-0b04a6fe8bf4"], None),
    (&["api_key=[REDACTED:credential_assignment]"], None),
    (&["token = \"env:GITHUB_TOKEN\""], None),
    (&["PASSWORD=$DB_PASSWORD"], None),
    (&["https://example.org:8080/a@b"], None),
];

#[test]
fn secrets_are_found_by_the_rule_that_names_them_and_prose_is_left_alone() {
    for (parts, rule) in CASES {
        let text = parts.concat();
        assert_eq!(find(&text), *rule, "{parts:?}");
    }
}

#[test]
fn scrubbing_leaves_no_secret_and_is_done_once() {
    for (parts, rule) in CASES {
        let text = format!("before {} after", parts.concat());
        let clean = scrub(&text);
        assert_eq!(find(&clean), None, "{parts:?}: {clean}");
        assert_eq!(scrub(&clean), clean, "{parts:?}");
        assert!(clean.starts_with("before "), "{parts:?}: {clean}");
        assert_eq!(rule.is_some(), clean != text, "{parts:?}: {clean}");
    }
}

#[test]
fn secrets_that_touch_each_other_are_all_removed() {
    let google = ["AI", "za", "a1B2c3D4e5F6g7H8i9J0a1B2c3D4e5F6g7H"].concat();
    let npm = ["np", "m_", "0123456789abcdefghijABCDEFGHIJ012345"].concat();
    let aws = ["AKIA", "ABCDEFGHIJKLMNOP"].concat();
    let hook = ["hooks.slack", ".com/services/", "T0000000/B0000000/abcdef"].concat();
    let url = "ab://u:p4ss@";
    for parts in [
        [&google, aws.as_str(), &npm],
        [&npm, &google, &npm],
        [&npm, &npm, &npm],
        [&aws, &hook, &aws],
        ["xy://u", url, "host:p4ss@x"],
        ["xy://u:p", url, "host@x"],
        [url, url, &aws],
    ] {
        let clean = scrub(&parts.concat()).into_owned();
        assert_eq!(find(&clean), None, "{parts:?}: {clean}");
        assert_eq!(scrub(&clean), clean, "{parts:?}");
    }
}

#[test]
fn what_is_glued_before_a_token_does_not_hide_it() {
    for (parts, rule) in TELLING {
        let token = parts.concat();
        for before in ["k_", "v_", "word", "X9", "\u{fc}", "_", "-", "=", "/"] {
            let text = format!("a {before}{token} b");
            assert_eq!(find(&text), Some(*rule), "{text}");
            let clean = scrub(&text).into_owned();
            assert!(!clean.contains(&token[4..]) && find(&clean).is_none(), "{clean}");
            assert!(clean.starts_with("a ") && clean.ends_with(" b"), "{clean}");
        }
    }
    // Words end like the beginning of these, so only an underscore may be before them.
    for token in [["sk", "-a1B2c3D4e5F6g7H8i9J0k1"], ["xap", "p-1-A0123456789-abcdef"]] {
        let token = token.concat();
        assert!(find(&format!("k_{token}")).is_some() && find(&format!("a {token}")).is_some(), "{token}");
        assert_eq!(find(&format!("ta{token}")), None);
    }
}

/// Tokens whose beginning tells what they are. An AWS key is not among them: it may not follow a capital or a digit.
const TELLING: &[(&[&str], &str)] = &[
    (&["sk-", "ant-api03-", "a1B2c3D4e5F6g7H8i9J0k1L2"], "anthropic_api_key"),
    (&["gh", "p_", "0123456789abcdefghijABCDEFGHIJ012345"], "github_token"),
    (&["github", "_pat_", "0123456789abcdefghijAB_cd"], "github_token"),
    (&["glp", "at-", "a1B2c3D4e5F6g7H8i9J0"], "gitlab_pat"),
    (&["xox", "b-", "123456789012-abcdef"], "slack_token"),
    (&["hooks.slack", ".com/services/", "T0000000/B0000000/abcdef"], "slack_webhook"),
    (&["sk", "_live_", "a1B2c3D4e5F6"], "stripe_key"),
    (&["AI", "za", "a1B2c3D4e5F6g7H8i9J0a1B2c3D4e5F6g7H"], "google_api_key"),
    (&["np", "m_", "0123456789abcdefghijABCDEFGHIJ012345"], "npm_token"),
    (&["h", "f_", "0123456789abcdefghijABCDEFGHIJ0123"], "huggingface_token"),
    (&["S", "G.", "a1B2c3D4e5F6g7H8i9J0ab.", "a1B2c3D4e5F6g7H8i9J0a1B2c3D4e5F6g7H8i9J0abc"], "sendgrid_key"),
    (&["hv", "s.", "a1B2c3D4e5F6g7H8i9J0a1B2"], "vault_token"),
    (&["ey", "JhbGciOiJIUzI1NiJ9", ".ey", "JzdWIiOiIxMjM0NTY3ODkwIn0", ".abcdefghijklmnop"], "jwt"),
];

#[test]
fn a_long_text_hides_no_secret() {
    for (parts, rule) in CASES {
        let text = format!("{} {} {}", "x".repeat(2000), parts.concat(), "y".repeat(2000));
        assert_eq!(find(&text), *rule, "{parts:?}");
    }
}

proptest! {
    #[test]
    fn scrubbing_anything_leaves_nothing_to_find(text in "[ -~]{0,200}", case in 0..CASES.len()) {
        let text = format!("{text}{}{text}", CASES[case].0.concat());
        let clean = scrub(&text).into_owned();
        prop_assert_eq!(find(&clean), None, "{}", clean);
    }

    #[test]
    fn scrubbing_pieces_of_secrets_leaves_nothing_to_find(pieces in prop::collection::vec(piece(), 0..12)) {
        let clean = scrub(&pieces.concat()).into_owned();
        prop_assert_eq!(find(&clean), None, "{}", clean);
    }
}

/// The whole of a secret, or a part of one.
fn piece() -> impl Strategy<Value = String> {
    let words =
        CASES.iter().flat_map(|(parts, _)| parts.iter().copied().chain(["://", ":", "@", "[", "_", " "]));
    let words: Vec<&str> = words.collect();
    let whole = prop::sample::select(CASES).prop_map(|(parts, _)| parts.concat());
    let telling = prop::sample::select(TELLING).prop_map(|(parts, _)| parts.concat());
    prop_oneof![prop::sample::select(words).prop_map(str::to_owned), whole, telling]
}

#[test]
fn a_name_behind_a_name_does_not_hide_its_value() {
    let text = ["pass", "word:\npass", "word:\n  hunter2hunter2\n"].concat();
    assert!(!scrub(&text).contains("hunter2"), "{}", scrub(&text));
}

#[test]
fn an_assignment_that_the_expression_finds_has_a_hint() {
    let names = [
        "api_key",
        "SECRET",
        "secret-key",
        "Access_Token",
        "passwd",
        "PASSWORD",
        "pwd",
        "credential",
        "credentials",
    ];
    let (quotes, blanks, signs) =
        (["", "\"", "'"], ["", " ", "\t ", "\n", "\u{a0}"], [":=", "=", ":", "", "->"]);
    for (name, quote) in names.iter().flat_map(|name| quotes.map(|quote| (name, quote))) {
        for (blank, sign) in blanks.iter().flat_map(|blank| signs.map(|sign| (blank, sign))) {
            let text = format!("of {name}{quote}{blank}{sign}{blank}{quote}hunter2-{name}");
            let expected = compiled(CREDENTIAL_ASSIGNMENT).is_match(&text);
            assert_eq!(find(&text).is_some(), expected, "{text:?}");
        }
    }
}
