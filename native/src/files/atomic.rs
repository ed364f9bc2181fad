//! Files written whole or not at all.

use crate::error::{Error, Result};
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Writes a temporary file beside `path`, and renames it to `path` once it is complete and on disk. A path that is no regular
/// file (a pipe, a terminal, /dev/stdout) is written to directly.
pub fn write_atomically(path: &Path, write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
    let fail = |source| Error::io(path, source);
    if path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        let mut file = File::options().write(true).open(path).map_err(fail)?;
        return write(&mut file).and_then(|()| file.flush()).map_err(fail);
    }
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut temporary = tempfile::Builder::new()
        .prefix(".loglinear-")
        .suffix(".tmp")
        .permissions(permissions(path))
        .tempfile_in(folder)
        // The kind of the error alone: its text would name the temporary file.
        .map_err(|error| fail(error.kind().into()))?;
    let file = temporary.as_file_mut();
    let mut buffered = std::io::BufWriter::with_capacity(1 << 20, &mut *file);
    write(&mut buffered).and_then(|()| buffered.flush()).map_err(fail)?;
    drop(buffered);
    file.sync_all().map_err(fail)?;
    temporary.persist(path).map_err(|error| fail(error.error))?;
    Ok(())
}

/// The permissions of the file that is replaced, or of a new file.
#[cfg(unix)]
fn permissions(path: &Path) -> std::fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().map_or_else(|_| std::fs::Permissions::from_mode(0o666), |metadata| metadata.permissions())
}

/// The permissions of the file that is replaced, or of the current folder.
#[cfg(not(unix))]
fn permissions(path: &Path) -> std::fs::Permissions {
    path.metadata()
        .map(|metadata| metadata.permissions())
        .unwrap_or_else(|_| Path::new(".").metadata().expect("the current folder").permissions())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        write_atomically(&path, |out| out.write_all(b"old")).unwrap();
        let failed = write_atomically(&path, |out| {
            out.write_all(b"new")?;
            Err(std::io::Error::other("disk full"))
        });
        assert!(failed.is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
