//! A disk that knows which of its contents would survive a power cut: what was synced, and of the rest any part.

use std::collections::BTreeMap;

use testkit::SeededIds;

use super::scene::Image;
use super::tape::{Bytes, Step};

/// The smallest piece that a disk writes at once.
const SECTOR: usize = 512;

/// What a power cut takes of everything that was not synced.
pub(crate) enum Loss<'r> {
    Everything,
    /// Names of files are kept as they were made, removed and changed; contents are not.
    Data,
    Nothing,
    /// Any part: some of the changes, and of a write some of its sectors.
    Parts(&'r mut SeededIds),
}

#[derive(Clone)]
enum Change {
    Write { at: usize, bytes: Bytes },
    Truncate { length: usize },
}

/// A file, whatever its name is.
#[derive(Default, Clone)]
struct Node {
    durable: Vec<u8>,
    pending: Vec<Change>,
}

/// A change of names, in one directory.
enum Naming {
    Add { path: String, node: Option<usize> },
    Remove { path: String },
    Rename { from: String, to: String },
}

/// Paths and the files behind them; directories have none.
type Names = BTreeMap<String, Option<usize>>;

pub(crate) struct Disk {
    nodes: Vec<Node>,
    /// As processes see them.
    names: Names,
    durable: Names,
    pending: Vec<Naming>,
    said: bool,
}

impl Disk {
    pub(crate) fn new(image: &Image) -> Self {
        let mut disk = Disk {
            nodes: Vec::new(),
            names: Names::new(),
            durable: Names::new(),
            pending: Vec::new(),
            said: false,
        };
        for (path, bytes) in image {
            let node = bytes.as_ref().map(|bytes| {
                disk.nodes.push(Node { durable: bytes.clone(), pending: Vec::new() });
                disk.nodes.len() - 1
            });
            disk.names.insert(path.clone(), node);
        }
        disk.durable = disk.names.clone();
        disk
    }

    /// Whether the process has answered.
    pub(crate) fn acknowledged(&self) -> bool {
        self.said
    }

    pub(crate) fn take(&mut self, step: &Step) {
        match step {
            Step::Say => self.said = true,
            Step::MakeDirectory { path } => self.name(Naming::Add { path: path.clone(), node: None }),
            Step::Open { path } if self.names.contains_key(path) => {}
            Step::Open { path } => {
                self.nodes.push(Node::default());
                let node = Some(self.nodes.len() - 1);
                self.name(Naming::Add { path: path.clone(), node });
            }
            Step::Remove { path } => self.name(Naming::Remove { path: path.clone() }),
            Step::Rename { from, to } => self.name(Naming::Rename { from: from.clone(), to: to.clone() }),
            Step::Write { path, at, bytes } => {
                self.change(path, Change::Write { at: *at, bytes: bytes.clone() });
            }
            Step::Append { path, bytes } => {
                let at = self.length(path);
                self.change(path, Change::Write { at, bytes: bytes.clone() });
            }
            Step::Link { from, to } => {
                let node = self.names[from];
                self.name(Naming::Add { path: to.clone(), node });
            }
            Step::Truncate { path, length } => self.change(path, Change::Truncate { length: *length }),
            Step::Sync { path } => self.sync(path),
        }
    }

    /// How long processes see the file.
    fn length(&self, path: &str) -> usize {
        let node = self.names.get(path).copied().flatten();
        node.map_or(0, |node| self.nodes[node].after_power_cut(&mut Loss::Nothing).len())
    }

    fn name(&mut self, naming: Naming) {
        apply_name(&mut self.names, &naming);
        self.pending.push(naming);
    }

    /// A file that was removed while it was open has no name any more, and nobody will read it.
    fn change(&mut self, path: &str, change: Change) {
        if let Some(Some(node)) = self.names.get(path) {
            self.nodes[*node].pending.push(change);
        }
    }

    /// A file's contents, or the names in a directory.
    fn sync(&mut self, path: &str) {
        match self.names.get(path) {
            Some(Some(node)) => {
                let node = &mut self.nodes[*node];
                for change in node.pending.drain(..) {
                    apply(&mut node.durable, &change, |_| true);
                }
            }
            _ => {
                let (synced, rest) =
                    std::mem::take(&mut self.pending).into_iter().partition(|n| parent(n) == path);
                self.pending = rest;
                let synced: Vec<Naming> = synced;
                synced.iter().for_each(|naming| apply_name(&mut self.durable, naming));
            }
        }
    }

    /// The files as they are found when the power is back.
    pub(crate) fn after_power_cut(&self, mut loss: Loss<'_>) -> Image {
        let mut names = self.durable.clone();
        // A file system writes down changes of names in their order, up to some point.
        let kept = match &mut loss {
            Loss::Everything => 0,
            Loss::Data | Loss::Nothing => self.pending.len(),
            Loss::Parts(random) => usize::try_from(random.below(self.pending.len() as u64 + 1)).unwrap(),
        };
        self.pending[..kept].iter().for_each(|naming| apply_name(&mut names, naming));
        let mut image = Image::new();
        for (path, node) in &names {
            let reachable = parents(path).all(|above| names.contains_key(above));
            if reachable {
                image.insert(path.clone(), node.map(|node| self.nodes[node].after_power_cut(&mut loss)));
            }
        }
        image
    }
}

impl Node {
    fn after_power_cut(&self, loss: &mut Loss<'_>) -> Vec<u8> {
        let mut bytes = self.durable.clone();
        for change in &self.pending {
            match loss {
                Loss::Everything | Loss::Data => {}
                Loss::Nothing => apply(&mut bytes, change, |_| true),
                Loss::Parts(random) => match random.below(4) {
                    0 | 1 => apply(&mut bytes, change, |_| true),
                    2 => apply(&mut bytes, change, |_| random.below(2) == 0),
                    _ => {}
                },
            }
        }
        bytes
    }
}

/// Makes the change; of a write only the sectors that are kept.
fn apply(file: &mut Vec<u8>, change: &Change, mut kept: impl FnMut(usize) -> bool) {
    match change {
        Change::Truncate { length } => file.resize(*length, 0),
        Change::Write { at, bytes } => {
            let mut start = *at;
            let end = at + bytes.0.len();
            while start < end {
                let stop = end.min((start / SECTOR + 1) * SECTOR);
                if kept(start / SECTOR) {
                    if file.len() < stop {
                        file.resize(stop, 0);
                    }
                    file[start..stop].copy_from_slice(&bytes.0[start - at..stop - at]);
                }
                start = stop;
            }
        }
    }
}

fn apply_name(names: &mut Names, naming: &Naming) {
    match naming {
        Naming::Add { path, node } => {
            names.insert(path.clone(), *node);
        }
        Naming::Remove { path } => {
            names.remove(path);
        }
        Naming::Rename { from, to } => {
            if let Some(node) = names.remove(from) {
                names.insert(to.clone(), node);
            }
        }
    }
}

fn parent(naming: &Naming) -> &str {
    let (Naming::Add { path, .. } | Naming::Remove { path } | Naming::Rename { to: path, .. }) = naming;
    path.rsplit_once('/').map_or("", |(above, _)| above)
}

/// The directories above a path, below the root.
fn parents(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}
