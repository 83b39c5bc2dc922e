//! Opening a store: made on first use, backed up before it is migrated, refused where it is not ours.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use contract::domain::time::Timestamp;
use rusqlite::{Connection, OpenFlags};

use crate::error::{Error, Result};
use crate::sqlite::{self, Header};
use crate::{Store, Tx};

impl Store {
    /// Opens the store at `path`, making it if there is none. `now` names the backup of an older schema.
    pub fn open(path: &Path, now: Timestamp) -> Result<Store> {
        make_file(path)?;
        sqlite::refuse_network(path.parent().unwrap_or(path))?;
        let opened = |source| Error::Open { path: path.to_owned(), source };
        let connection = connect(path).map_err(opened)?;
        let mut store = Store { connection, path: path.to_owned() };
        match sqlite::header(&store.connection).map_err(opened)? {
            Header::Foreign => Err(Error::Foreign { path: path.to_owned() }),
            Header::Ours { schema } if schema == sqlite::known_schema() => Ok(store),
            Header::Ours { schema } if schema > sqlite::known_schema() => {
                Err(Error::Newer { found: schema, known: sqlite::known_schema() })
            }
            Header::Ours { .. } | Header::Fresh => {
                sqlite::use_wal(&store.connection).map_err(opened)?;
                store.bring_up_to_date(now)?;
                Ok(store)
            }
        }
    }

    /// A store that is gone with the value; for comparing a replay with the real one.
    pub(crate) fn in_memory() -> Result<Store> {
        let connection = Connection::open_in_memory()?;
        sqlite::configure(&connection)?;
        sqlite::migrate(&connection, 0)?;
        Ok(Store { connection, path: PathBuf::from(":memory:") })
    }

    fn bring_up_to_date(&mut self, now: Timestamp) -> Result<()> {
        if let Header::Ours { schema } = sqlite::header(&self.connection)? {
            self.back_up(schema, now)?;
        }
        let path = self.path.clone();
        let tx: Tx<'_> = self.begin()?;
        // Another process may have done it while this one waited for the lock.
        match sqlite::header(&tx.sql)? {
            Header::Ours { schema } if schema == sqlite::known_schema() => return Ok(()),
            Header::Ours { schema } => sqlite::migrate(&tx.sql, schema)?,
            Header::Fresh => sqlite::migrate(&tx.sql, 0)?,
            Header::Foreign => return Err(Error::Foreign { path }),
        }
        tx.commit()
    }

    fn back_up(&self, schema: i64, now: Timestamp) -> Result<()> {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".schema{schema}-{}.backup", now.millis()));
        let target = PathBuf::from(name);
        self.connection.execute("VACUUM INTO ?1", [target.to_string_lossy()])?;
        Ok(())
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    // No CREATE: the file was made by us with its own permissions. No URI: a path is only a path.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    sqlite::configure(&connection)?;
    Ok(connection)
}

/// Makes the file and its directory where they are missing, for the user alone.
fn make_file(path: &Path) -> Result<()> {
    if path.exists() {
        return Ok(());
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(parent)
            .map_err(|source| Error::Directory { path: parent.to_owned(), source })?;
    }
    match fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(source) => Err(Error::File { path: path.to_owned(), source }),
    }
}
