//! Looks at a workspace once, for the benchmark: `look-for-bench INDEX ROOT`. Exits with 1 if a file was read.

use std::path::PathBuf;
use std::process::ExitCode;

use engine::index::{How, Index};

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(index), Some(root)) = (words.next(), words.next()) else { return ExitCode::from(2) };
    let look = Index::at(index).look(&root, &How::default());
    if look.partial().is_some() {
        return ExitCode::from(3);
    }
    ExitCode::from(u8::from(look.files_read() > 0))
}
