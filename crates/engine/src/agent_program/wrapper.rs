//! Programs that start another program: `env X=1 nice -n 5 claude`.

use super::stem;

/// A wrapper, its options that take a value, and how many words it takes before the program.
struct Wrapper {
    name: &'static str,
    valued: &'static [&'static str],
    words: usize,
}

const WRAPPERS: &[Wrapper] = &[
    Wrapper { name: "env", valued: &["-u", "--unset", "-C", "--chdir"], words: 0 },
    Wrapper { name: "nice", valued: &["-n"], words: 0 },
    Wrapper { name: "nohup", valued: &[], words: 0 },
    Wrapper { name: "setsid", valued: &[], words: 0 },
    Wrapper { name: "time", valued: &["-f", "-o"], words: 0 },
    Wrapper { name: "timeout", valued: &["-k", "-s"], words: 1 },
    Wrapper { name: "stdbuf", valued: &["-i", "-o", "-e"], words: 0 },
    Wrapper { name: "npx", valued: &["-p", "--package"], words: 0 },
    Wrapper { name: "node", valued: &["-r", "--require", "--import"], words: 0 },
    Wrapper { name: "bun", valued: &[], words: 0 },
];

/// The place of the program that the words start in the end.
pub(super) fn program_at(words: &[String]) -> Option<usize> {
    let mut at = 0;
    while let Some(wrapper) =
        WRAPPERS.iter().find(|wrapper| words.get(at).is_some_and(|word| stem(word) == wrapper.name))
    {
        at = behind(wrapper, words, at + 1);
    }
    (at < words.len()).then_some(at)
}

/// The place behind the wrapper's own words.
fn behind(wrapper: &Wrapper, words: &[String], mut at: usize) -> usize {
    let mut words_left = wrapper.words;
    while let Some(word) = words.get(at) {
        let is_assignment = wrapper.name == "env" && word.contains('=');
        if word == "--" {
            return at + 1;
        } else if wrapper.valued.contains(&word.as_str()) {
            at += 2;
        } else if word.starts_with('-') || is_assignment {
            at += 1;
        } else if words_left > 0 {
            words_left -= 1;
            at += 1;
        } else {
            return at;
        }
    }
    at
}
