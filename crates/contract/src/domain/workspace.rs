//! The directory an agent works in, which is the name of its project.

/// The id of a project: the normalized path of a directory, without `.`, `..` and repeated slashes. Any other id is
/// kept as it is.
pub fn id(text: &str) -> String {
    if !text.starts_with('/') {
        return text.to_owned();
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in text.split('/') {
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

/// The same, with relative paths resolved in the directory `here`. A plain word is an id, not a path.
pub fn id_from(text: &str, here: &str) -> String {
    let is_relative = matches!(text, "." | "..") || text.starts_with("./") || text.starts_with("../");
    if is_relative { id(&format!("{here}/{text}")) } else { id(text) }
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
            assert_eq!(id_from(text, "/all/ann"), expected, "{text}");
            assert_eq!(id_from(expected, "/elsewhere"), expected, "an id stays as it is");
        }
    }
}
