//! The files of the checkout, read once.

use crate::Result;
use crate::job::{Job, root};

/// A larger file is a blob: only its size is checked, its text is not read.
pub(super) const BLOB_BYTES_MAX: u64 = 512 * 1024;

pub(super) struct Tree {
    pub(super) files: Vec<File>,
}

pub(super) struct File {
    /// Relative to the root, with `/`.
    pub(super) path: String,
    pub(super) bytes: u64,
    /// Empty for blobs and for files that are not text.
    pub(super) text: String,
}

impl Tree {
    /// Files that git tracks or would track after `git add .`, so that a violation is reported before the commit.
    pub(super) fn of_checkout() -> Result<Tree> {
        let listed =
            Job::new("git", &["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).output()?;
        let mut paths: Vec<&str> = listed.split('\0').filter(|path| !path.is_empty()).collect();
        paths.sort_unstable();
        paths.dedup();
        let mut files = Vec::new();
        for path in paths {
            let full = root().join(path);
            // A file that was deleted and not yet committed is still listed.
            let Ok(about) = full.symlink_metadata() else { continue };
            if !about.is_file() {
                continue;
            }
            let text = if about.len() > BLOB_BYTES_MAX {
                String::new()
            } else {
                let bytes =
                    std::fs::read(&full).map_err(|error| format!("could not read {path}: {error}"))?;
                String::from_utf8(bytes).unwrap_or_default()
            };
            files.push(File { path: path.to_owned(), bytes: about.len(), text });
        }
        Ok(Tree { files })
    }

    pub(super) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    pub(super) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is_rust())
    }

    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Tree {
        let file = |(path, text): &(&str, &str)| File {
            path: (*path).to_owned(),
            bytes: text.len() as u64,
            text: (*text).to_owned(),
        };
        Tree { files: files.iter().map(file).collect() }
    }
}

impl File {
    pub(super) fn is_rust(&self) -> bool {
        self.has_ending("rs")
    }

    pub(super) fn has_ending(&self, ending: &str) -> bool {
        self.path.rsplit_once('.').is_some_and(|(_, found)| found == ending)
    }

    /// A file that holds tests and nothing else.
    pub(super) fn is_test(&self) -> bool {
        self.path.contains("/tests/") || self.path.ends_with("/tests.rs")
    }

    /// The lines with their numbers, counted from 1.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// How many lines the file has without an inline test module at its end.
    pub(super) fn product_lines(&self) -> usize {
        let lines: Vec<&str> = self.text.lines().collect();
        let inline_tests = lines.windows(2).position(|pair| {
            pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{')
        });
        inline_tests.unwrap_or(lines.len())
    }
}
