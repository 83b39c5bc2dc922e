use super::*;

#[test]
fn what_a_terminal_obeys_or_hides_is_written_out() {
    for (text, block, line) in [
        ("plain – ünïcode 漢字 🙂", "plain – ünïcode 漢字 🙂", "plain – ünïcode 漢字 🙂"),
        ("a\tb\nc", "a\tb\nc", "a\\tb\\nc"),
        ("a\rb", "a\\u000db", "a\\rb"),
        ("\u{1b}[31mred", "\\u001b[31mred", "\\u001b[31mred"),
        ("\u{9b}31m \u{7f} \0", "\\u009b31m \\u007f \\u0000", "\\u009b31m \\u007f \\u0000"),
        ("\u{202e}abc\u{2066}", "\\u202eabc\\u2066", "\\u202eabc\\u2066"),
        ("\u{200e}\u{200f}\u{61c}", "\\u200e\\u200f\\u061c", "\\u200e\\u200f\\u061c"),
        ("a\u{200b}b\u{feff}", "a\\u200bb\\ufeff", "a\\u200bb\\ufeff"),
        ("a\u{2028}b", "a\\u2028b", "a\\u2028b"),
        ("\u{e0041}", "\\udb40\\udc41", "\\udb40\\udc41"),
    ] {
        assert_eq!(harmless(text), block, "{text:?}");
        assert_eq!(one_line(text), line, "{text:?}");
    }
}

#[test]
fn printed_json_still_means_the_same() {
    let text = "a\u{9b}\u{202e}\u{e0041}\u{feff}";
    let printed = harmless(&serde_json::to_string(text).unwrap()).into_owned();
    assert_eq!(serde_json::from_str::<String>(&printed).unwrap(), text);
}
