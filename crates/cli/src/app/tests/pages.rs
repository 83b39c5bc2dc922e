//! README and the guides name only commands that exist, with flags that exist.

use std::fs;
use std::path::{Path, PathBuf};

use crate::app::grammar;

fn pages() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs =
        fs::read_dir(root.join("docs")).expect("the folder of guides").flatten().map(|entry| entry.path());
    let guides = docs.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    let all = std::iter::once(root.join("README.md")).chain(guides);
    all.map(|path| (path.clone(), fs::read_to_string(path).expect("a readable page"))).collect()
}

/// The calls of writ in blocks of shell commands, without what a shell keeps for itself.
fn calls(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_shell = false;
    let mut here_document: Option<String> = None;
    for line in page.replace("\\\n", " ").lines() {
        if let Some(info) = line.strip_prefix("```") {
            in_shell = !in_shell && info.split(' ').next() == Some("sh");
            continue;
        }
        if !in_shell || here_document.is_some() {
            here_document.take_if(|end| *end == line);
            continue;
        }
        here_document = line.split_once("<<").map(|(_, end)| end.trim().trim_matches('\'').to_owned());
        let line = line.split(" #").next().unwrap_or_default();
        let parts = line.split(['|', '<', '>', ';', '&']).map(str::trim);
        found.extend(parts.filter(|part| part.starts_with("writ ")).map(str::to_owned));
    }
    found
}

/// Calls in running text: `` `writ runs show` ``.
fn mentions(page: &str) -> Vec<String> {
    let text: String = page.split("```").step_by(2).collect();
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter(|code| code.starts_with("writ ")).map(str::to_owned).collect()
}

#[test]
fn every_call_in_a_shell_block_of_a_page_is_accepted_by_the_grammar() {
    let mut faults = Vec::new();
    let mut count = 0;
    for (path, page) in pages() {
        for call in calls(&page) {
            count += 1;
            let words = shlex::split(&call).unwrap_or_else(|| panic!("{}: {call}", path.display()));
            if let Err(error) = grammar().try_get_matches_from(words) {
                faults.push(format!("{}: {call}: {error}", path.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(count > 20, "{count} calls were found");
}

#[test]
fn every_command_that_a_page_mentions_exists() {
    let mut faults = Vec::new();
    for (path, page) in pages() {
        for mention in mentions(&page) {
            let words = mention.split_whitespace().skip(1);
            let mut command = grammar();
            command.build();
            for word in words.take_while(|word| word.chars().all(|c| c.is_ascii_lowercase() || c == '-')) {
                if word.starts_with('-') || !command.has_subcommands() {
                    break;
                }
                match command.find_subcommand(word) {
                    Some(found) => command = found.clone(),
                    None => {
                        faults.push(format!("{}: `{mention}`: no command `{word}`", path.display()));
                        break;
                    }
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
