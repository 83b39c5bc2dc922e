//! The directory an agent works in, which is the name of its project.

/// The one name of a directory: whole, without `.`, `..` and slashes that say nothing. `here` is the current one. Only
/// what looks like a path is one: a bare word may be the id of a project, and ids are nobody's to change.
pub fn name(text: &str, here: &str) -> String {
    let is_relative = matches!(text, "." | "..") || text.starts_with("./") || text.starts_with("../");
    let whole = match (text.starts_with('/'), is_relative) {
        (true, _) => text.to_owned(),
        (false, true) => format!("{here}/{text}"),
        (false, false) => return text.to_owned(),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_one_name_and_an_id_stays_as_it_is() {
        for (text, expected) in [
            ("/pr", "/pr"),
            ("/pr/", "/pr"),
            ("//pr/./sub//", "/pr/sub"),
            ("/pr/../other", "/other"),
            ("/", "/"),
            (".", "/all/ann"),
            ("./", "/all/ann"),
            ("..", "/all"),
            ("./sub/", "/all/ann/sub"),
            ("../bob", "/all/bob"),
            ("proj_1", "proj_1"),
            ("team/proj", "team/proj"),
            (".hidden", ".hidden"),
            ("", ""),
        ] {
            assert_eq!(name(text, "/all/ann"), expected, "{text}");
            assert_eq!(name(&name(text, "/all/ann"), "/elsewhere"), expected, "a name keeps its name");
        }
    }
}
