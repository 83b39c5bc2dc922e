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

/// The project that a directory belongs to: the nearest one, from itself upward, that `is_root` accepts.
pub fn project_of(directory: &str, is_root: impl Fn(&str) -> bool) -> Option<String> {
    let directory = id(directory);
    let mut here = directory.as_str();
    while here.starts_with('/') {
        if is_root(here) {
            return Some(here.to_owned());
        }
        let parent = here.rsplit_once('/').map_or("", |(parent, _)| parent);
        here = if parent.is_empty() && here != "/" { "/" } else { parent };
    }
    None
}

/// Whether a directory is the project's root or below it.
pub fn is_within(directory: &str, project: &str) -> bool {
    let root = project.strip_suffix('/').unwrap_or(project);
    directory.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
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

    #[test]
    fn a_directory_belongs_to_the_nearest_project_above_it() {
        let marked = |roots: &'static [&'static str]| move |directory: &str| roots.contains(&directory);
        assert_eq!(project_of("/a/b/c", marked(&["/a", "/a/b"])).as_deref(), Some("/a/b"));
        assert_eq!(project_of("/a/b/", marked(&["/a/b"])).as_deref(), Some("/a/b"));
        assert_eq!(project_of("/a/b", marked(&["/"])).as_deref(), Some("/"));
        assert_eq!(project_of("/a/b", marked(&["/x"])), None);
        assert_eq!(project_of("word", marked(&["word"])), None);
    }

    #[test]
    fn a_project_holds_what_is_below_it_and_nothing_beside_it() {
        for (directory, project, expected) in [
            ("/a/b", "/a/b", true),
            ("/a/b/c", "/a/b", true),
            ("/a/bc", "/a/b", false),
            ("/a", "/a/b", false),
            ("/a", "/", true),
            ("/", "/", true),
        ] {
            assert_eq!(is_within(directory, project), expected, "{directory} in {project}");
        }
    }
}
