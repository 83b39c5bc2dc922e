//! What a process does to the files below a directory, step by step, as `strace` saw it.

use super::scene::Scene;

#[derive(Debug, Clone)]
pub(crate) enum Step {
    MakeDirectory {
        path: String,
    },
    /// Opened for writing; made if it was not there.
    Open {
        path: String,
    },
    Write {
        path: String,
        at: usize,
        bytes: Bytes,
    },
    /// At the end of the file, which is how files are written that nobody else has open.
    Append {
        path: String,
        bytes: Bytes,
    },
    Truncate {
        path: String,
        length: usize,
    },
    Sync {
        path: String,
    },
    Remove {
        path: String,
    },
    Rename {
        from: String,
        to: String,
    },
    /// A second name for a file.
    Link {
        from: String,
        to: String,
    },
    /// Something was printed: a reader may rely on it.
    Say,
}

/// Bytes that are not worth printing.
#[derive(Clone)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

pub(crate) struct Tape {
    pub(crate) steps: Vec<Step>,
}

/// Every call that could change a file. What [`step`] does not know fails the test.
const CALLS: &str = "trace=openat,open,creat,write,writev,pwrite64,pwritev,pwritev2,ftruncate,truncate,fallocate,fsync,\
                     fdatasync,sync_file_range,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,link,linkat";

impl Tape {
    /// Does the scene's mutation and records it.
    pub(crate) fn record(scene: &Scene) -> Self {
        let log = scene.root().parent().unwrap().join("tape");
        let log = log.to_str().unwrap();
        scene.traced(&["-qq", "-y", "-xx", "-s", "1000000", "-o", log, "-e", CALLS]).success();
        let text = std::fs::read_to_string(log).unwrap();
        let root = format!("{}/", scene.root().to_str().unwrap().trim_end_matches('/'));
        Self { steps: text.lines().filter_map(|line| step(line, &root)).collect() }
    }
}

/// One line such as `pwrite64(4<path>, "bytes", 4096, 56) = 4096`. Calls that failed or go elsewhere are no steps.
fn step(line: &str, root: &str) -> Option<Step> {
    let (call, rest) = line.split_once('(')?;
    let (arguments, result) = rest.rsplit_once(" = ")?;
    if result.starts_with('-') {
        return None;
    }
    let arguments = arguments.trim_end().trim_end_matches(')');
    let texts: Vec<String> = quoted(arguments, '"', '"').iter().map(|t| string(t)).collect();
    let opened: Vec<String> = quoted(arguments, '<', '>').iter().map(|t| string(t)).collect();
    // The index of the log is memory that is shared through a file; nobody reads it after a power cut.
    let inside =
        |path: &String| path.strip_prefix(root).filter(|path| !path.ends_with("-shm")).map(str::to_owned);
    let numbers = || arguments.rsplit(", ").map_while(|word| word.parse::<usize>().ok()).collect::<Vec<_>>();
    match call {
        "mkdir" => Some(Step::MakeDirectory { path: inside(&texts[0])? }),
        "openat" if arguments.contains("O_CREAT") => Some(Step::Open { path: inside(&texts[0])? }),
        "openat" => None,
        "pwrite64" => {
            let bytes = Bytes(bytes(quoted(arguments, '"', '"')[0]));
            Some(Step::Write { path: inside(&opened[0])?, at: numbers()[0], bytes })
        }
        "write" if arguments.starts_with("1<") => Some(Step::Say),
        "write" => {
            let bytes = Bytes(bytes(quoted(arguments, '"', '"')[0]));
            Some(Step::Append { path: inside(&opened[0])?, bytes })
        }
        "ftruncate" => Some(Step::Truncate { path: inside(&opened[0])?, length: numbers()[0] }),
        // The directory itself is named without the slash at the end of its root.
        "fsync" | "fdatasync" => {
            let path = format!("{}/", opened[0]);
            let path = path.strip_prefix(root)?.trim_end_matches('/').to_owned();
            Some(Step::Sync { path }).filter(|_| !opened[0].ends_with("-shm"))
        }
        "unlink" => Some(Step::Remove { path: inside(&texts[0])? }),
        "link" | "linkat" => Some(Step::Link { from: inside(&texts[0])?, to: inside(&texts[1])? }),
        "rename" => Some(Step::Rename { from: inside(&texts[0])?, to: inside(&texts[1])? }),
        other => panic!("the disk does not know the call {other}: {}", &line[..line.len().min(300)]),
    }
}

/// What stands between these two, each time.
fn quoted(text: &str, open: char, close: char) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, behind)) = rest.split_once(open)
        && let Some((inside, after)) = behind.split_once(close)
    {
        found.push(inside);
        rest = after;
    }
    found
}

/// Bytes as `strace -xx` writes them.
fn bytes(text: &str) -> Vec<u8> {
    text.split("\\x").skip(1).map(|hex| u8::from_str_radix(&hex[..2], 16).unwrap()).collect()
}

fn string(text: &str) -> String {
    if text.starts_with("\\x") { String::from_utf8_lossy(&bytes(text)).into_owned() } else { text.to_owned() }
}
