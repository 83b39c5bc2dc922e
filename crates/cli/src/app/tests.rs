use std::collections::BTreeMap;

use super::grammar;

/// What each command below `above` says of itself, by its words.
fn abouts(above: &clap::Command, words: &str, found: &mut Vec<(String, String)>) {
    let shown = |command: &&clap::Command| !command.is_hide_set() && command.get_name() != "help";
    for command in above.get_subcommands().filter(shown) {
        let words = format!("{words} {}", command.get_name());
        let about = command.get_long_about().or_else(|| command.get_about());
        found.push((words.clone(), about.map(ToString::to_string).unwrap_or_default()));
        abouts(command, &words, found);
    }
}

#[test]
fn every_command_is_described_by_a_sentence_of_its_own() {
    let mut grammar = grammar();
    grammar.build();
    let mut found = Vec::new();
    abouts(&grammar, "writ", &mut found);
    assert!(found.len() > 80, "{}", found.len());
    let mut said: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (words, about) in &found {
        assert!(!about.is_empty() && !about.contains("grammar"), "{words}: {about:?}");
        said.entry(about).or_default().push(words);
    }
    let above = |words: &str| words.rsplit_once(' ').map(|(above, _)| above.to_owned());
    for (about, words) in said {
        // Two words may name one thing, but beside each other they have to be told apart.
        let mut places: Vec<_> = words.iter().map(|words| above(words)).collect();
        places.sort();
        let count = places.len();
        places.dedup();
        assert!(places.len() == count && count <= 2, "{words:?} all say {about:?}");
    }
}
