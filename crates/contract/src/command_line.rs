//! A command line as a list of arguments: quotes are understood, nothing is expanded, and no shell is needed.

use std::iter::Peekable;
use std::str::Chars;

/// Why a text is not one plain command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineFault {
    #[error("must name a program")]
    Empty,
    #[error("has an unclosed {0} quote")]
    UnclosedQuote(&'static str),
    #[error("ends with a backslash")]
    UnfinishedEscape,
    #[error("has `{0}`, which only a shell understands")]
    Operator(String),
}

/// Splits a text as a shell would, except that variables and patterns stay as they are. Text that needs a shell is a
/// fault: running it without one would do something else.
pub fn split(text: &str) -> Result<Vec<String>, LineFault> {
    let mut words = Vec::new();
    let mut rest = text.trim().chars().peekable();
    while let Some(&next) = rest.peek() {
        if matches!(next, ' ' | '\t') {
            rest.next();
        } else {
            words.push(word(&mut rest)?);
        }
    }
    if words.first().is_none_or(|program| program.trim().is_empty()) {
        return Err(LineFault::Empty);
    }
    Ok(words)
}

/// A word as a shell has to be given it. Only a zero byte cannot be quoted, and neither a name nor a path has one.
pub fn quoted(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), std::borrow::Cow::into_owned)
}

fn word(rest: &mut Peekable<Chars<'_>>) -> Result<String, LineFault> {
    let mut word = String::new();
    if rest.peek() == Some(&'#') {
        return Err(LineFault::Operator("#".to_owned()));
    }
    while let Some(&c) = rest.peek() {
        if matches!(c, ' ' | '\t') {
            break;
        }
        if is_operator(c) {
            return Err(LineFault::Operator(operator(rest)));
        }
        rest.next();
        match c {
            '\'' => single_quoted(rest, &mut word)?,
            '"' => double_quoted(rest, &mut word)?,
            '\\' => word.push(rest.next().ok_or(LineFault::UnfinishedEscape)?),
            c => word.push(c),
        }
    }
    Ok(word)
}

fn is_operator(c: char) -> bool {
    matches!(c, '|' | '&' | ';' | '<' | '>' | '(' | ')' | '`' | '\n' | '\r')
}

/// The whole operator, such as `&&`.
fn operator(rest: &mut Peekable<Chars<'_>>) -> String {
    let mut operator = String::new();
    while let Some(c) = rest.next_if(|&c| is_operator(c)) {
        match c {
            '\n' | '\r' => return "\\n".to_owned(),
            c => operator.push(c),
        }
    }
    operator
}

fn single_quoted(rest: &mut Peekable<Chars<'_>>, word: &mut String) -> Result<(), LineFault> {
    for c in rest {
        if c == '\'' {
            return Ok(());
        }
        word.push(c);
    }
    Err(LineFault::UnclosedQuote("single"))
}

fn double_quoted(rest: &mut Peekable<Chars<'_>>, word: &mut String) -> Result<(), LineFault> {
    while let Some(c) = rest.next() {
        match c {
            '"' => return Ok(()),
            '`' => return Err(LineFault::Operator("`".to_owned())),
            '\\' => match rest.next() {
                Some(escaped @ ('$' | '`' | '"' | '\\')) => word.push(escaped),
                Some('\n') => {}
                Some(other) => word.extend(['\\', other]),
                None => return Err(LineFault::UnclosedQuote("double")),
            },
            c => word.push(c),
        }
    }
    Err(LineFault::UnclosedQuote("double"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_understood_and_nothing_is_expanded() {
        for (text, expected) in [
            ("cargo test", vec!["cargo", "test"]),
            ("  cargo\ttest  ", vec!["cargo", "test"]),
            ("test -f 'two words'", vec!["test", "-f", "two words"]),
            (r#"sh -c "exit 1""#, vec!["sh", "-c", "exit 1"]),
            (r#"grep "a|b" 'x && y'"#, vec!["grep", "a|b", "x && y"]),
            (r"a\ b c\|d", vec!["a b", "c|d"]),
            (r#""say \"hi\" \$x \n""#, vec![r#"say "hi" $x \n"#]),
            ("ls $HOME *.rs ~ a#b", vec!["ls", "$HOME", "*.rs", "~", "a#b"]),
            ("env X=1 claude ''", vec!["env", "X=1", "claude", ""]),
            ("a'b'\"c\"d", vec!["abcd"]),
        ] {
            assert_eq!(split(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_needs_a_shell_is_named() {
        let operator = |text: &str| LineFault::Operator(text.to_owned());
        for (text, expected) in [
            ("", LineFault::Empty),
            ("  ", LineFault::Empty),
            ("'' x", LineFault::Empty),
            ("echo 'open", LineFault::UnclosedQuote("single")),
            ("echo \"open", LineFault::UnclosedQuote("double")),
            ("echo \\", LineFault::UnfinishedEscape),
            ("a && b", operator("&&")),
            ("a&&b", operator("&&")),
            ("a || b", operator("||")),
            ("a | b", operator("|")),
            ("a > out", operator(">")),
            ("a 2>&1", operator(">&")),
            ("a < in", operator("<")),
            ("a; b", operator(";")),
            ("a &", operator("&")),
            ("echo $(date)", operator("(")),
            ("echo `date`", operator("`")),
            ("echo \"`date`\"", operator("`")),
            ("a\nb", operator("\\n")),
            ("a # b", operator("#")),
        ] {
            assert_eq!(split(text), Err(expected), "{text}");
        }
    }
}
