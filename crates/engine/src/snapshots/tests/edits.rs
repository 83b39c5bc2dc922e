//! Random changes of a directory, as a shell makes them. What is not possible is left out.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use proptest::prelude::*;

#[derive(Debug, Clone)]
pub(super) enum Edit {
    Write(Spot, Vec<u8>),
    Append(Spot),
    Directory(Spot),
    Link(Spot, Spot),
    Remove(Spot),
    Rename(Spot, Spot),
    Mode(Spot, u32),
    /// A file with a hole in it.
    Sparse(Spot),
}

/// A path of up to three names out of a few, so that edits meet each other.
#[derive(Debug, Clone)]
pub(super) struct Spot(Vec<u8>);

impl Spot {
    fn in_directory(&self, root: &Path) -> PathBuf {
        const NAMES: [&str; 4] = ["a", "b", "a b", "ü"];
        self.0.iter().fold(root.to_owned(), |path, name| path.join(NAMES[usize::from(*name) % NAMES.len()]))
    }
}

fn spot() -> impl Strategy<Value = Spot> {
    prop::collection::vec(0u8..4, 1..4).prop_map(Spot)
}

pub(super) fn edit() -> impl Strategy<Value = Edit> {
    let mode = prop::sample::select(vec![0o644u32, 0o755, 0o700, 0o640, 0o555, 0o500]);
    prop_oneof![
        4 => (spot(), prop::collection::vec(any::<u8>(), 0..64)).prop_map(|(spot, bytes)| Edit::Write(spot, bytes)),
        2 => spot().prop_map(Edit::Append),
        2 => spot().prop_map(Edit::Directory),
        1 => (spot(), spot()).prop_map(|(spot, to)| Edit::Link(spot, to)),
        3 => spot().prop_map(Edit::Remove),
        2 => (spot(), spot()).prop_map(|(from, to)| Edit::Rename(from, to)),
        2 => (spot(), mode).prop_map(|(spot, mode)| Edit::Mode(spot, mode)),
        1 => spot().prop_map(Edit::Sparse),
    ]
}

pub(super) fn apply(root: &Path, edit: &Edit) {
    let make_parent = |path: &Path| fs::create_dir_all(path.parent().unwrap_or(root)).ok();
    match edit {
        Edit::Write(spot, bytes) => {
            let path = spot.in_directory(root);
            make_parent(&path);
            // A write through a link may leave the directory; the sandbox is for that, not the rollback.
            if !path.is_symlink() {
                fs::write(path, bytes).ok();
            }
        }
        Edit::Append(spot) => {
            let path = spot.in_directory(root);
            if path.is_file() && !path.is_symlink() {
                let more = [fs::read(&path).unwrap_or_default(), b"more".to_vec()].concat();
                fs::write(path, more).ok();
            }
        }
        Edit::Directory(spot) => drop(fs::create_dir_all(spot.in_directory(root)).ok()),
        Edit::Link(spot, to) => {
            let path = spot.in_directory(root);
            make_parent(&path);
            symlink(Path::new("..").join(to.in_directory(Path::new(""))), path).ok();
        }
        Edit::Remove(spot) => {
            let path = spot.in_directory(root);
            if path.is_symlink() || path.is_file() {
                fs::remove_file(path).ok();
            } else {
                fs::remove_dir_all(path).ok();
            }
        }
        Edit::Rename(from, to) => {
            let to = to.in_directory(root);
            make_parent(&to);
            fs::rename(from.in_directory(root), to).ok();
        }
        Edit::Mode(spot, mode) => {
            let path = spot.in_directory(root);
            // Its owner can look into every directory, but not write all of them.
            let mode = if path.is_dir() { mode | 0o500 } else { *mode };
            if !path.is_symlink() {
                fs::set_permissions(path, fs::Permissions::from_mode(mode)).ok();
            }
        }
        Edit::Sparse(spot) => {
            let path = spot.in_directory(root);
            make_parent(&path);
            if !path.exists() && !path.is_symlink() {
                let made = fs::File::create(path).and_then(|file| {
                    file.set_len(200_000)?;
                    std::os::unix::fs::FileExt::write_all_at(&file, b"end", 150_000)
                });
                made.ok();
            }
        }
    }
}
