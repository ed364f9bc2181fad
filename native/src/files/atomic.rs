//! Writes files and folders atomically.
//!
//! A file or folder has a temporary name and a lock while it is written. A process that is killed leaves it there without the
//! lock, and the next process that writes to the same folder removes it.

use crate::error::{Error, Result};
use crate::files::opening::open_at_once;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Beginning and end of temporary names.
const NAME: (&str, &str) = (".loglinear-", ".tmp");

/// Makes a file or folder with a temporary name next to `path` and locks it. Also returns the lock, which ends with the process
/// at the latest. Leftovers of processes that were killed are removed first.
pub fn made_beside<T: AsRef<Path>>(
    path: &Path,
    make: impl Fn(&mut tempfile::Builder<'_, '_>, &Path) -> std::io::Result<T>,
) -> Result<(T, Option<File>)> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    sweep(folder);
    loop {
        let created = make(tempfile::Builder::new().prefix(NAME.0).suffix(NAME.1), folder);
        let created = created.map_err(|error| Error::io(path, without_path(&error)))?;
        // Without locks, leftovers are not removed either. On Windows the lock would prevent even its owner from writing.
        let lock = if cfg!(unix) { File::open(created.as_ref()).ok() } else { None };
        let lock = lock.filter(|lock| lock.try_lock().is_ok());
        // Another process may have removed it as a leftover before it was locked.
        if created.as_ref().exists() {
            return Ok((created, lock));
        }
    }
}

/// Removes leftovers of killed processes from a folder, as far as possible.
fn sweep(folder: &Path) {
    let (true, Ok(entries)) = (cfg!(unix), fs::read_dir(folder)) else { return };
    let left: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| {
            entry.file_name().to_str().is_some_and(|name| name.starts_with(NAME.0) && name.ends_with(NAME.1))
        })
        .map(|entry| entry.path())
        .collect();
    for path in left {
        let free = open_at_once(&path).is_ok_and(|file| file.try_lock().is_ok());
        if free {
            let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        }
    }
}

/// An error of `tempfile` without the temporary name in its text.
fn without_path(error: &std::io::Error) -> std::io::Error {
    // `tempfile` keeps the number only in the text: "... (os error 28) at path ...".
    let text = error.to_string();
    let told = text.split("(os error ").nth(1).and_then(|after| after.split(')').next());
    let number = error.raw_os_error().or_else(|| told.and_then(|number| number.parse().ok()));
    number.map_or_else(|| error.kind().into(), std::io::Error::from_raw_os_error)
}

/// Moves a complete folder to a place where another one may be, which it replaces. Where the system can exchange two names
/// atomically, one of the two is always there.
pub fn replace_folder(new: &Path, path: &Path) -> std::io::Result<()> {
    if !path.exists() {
        return fs::rename(new, path);
    }
    if exchange(new, path).is_err() {
        let aside = new.with_extension("old");
        fs::rename(path, &aside)?;
        if let Err(error) = fs::rename(new, path) {
            fs::rename(&aside, path)?;
            return Err(error);
        }
        fs::rename(&aside, new)?;
    }
    // Remains of the old folder are removed by the next process that writes here.
    let _ = fs::remove_dir_all(new);
    Ok(())
}

/// Exchanges the names of two files or folders.
#[cfg(target_os = "linux")]
fn exchange(one: &Path, other: &Path) -> std::io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    let [one, other] = [one, other].map(|path| std::ffi::CString::new(path.as_os_str().as_bytes()));
    let (one, other) = (one?, other?);
    // SAFETY: two strings that end with NUL and outlive the call. glibc has a function for this only since 2.28.
    let failed = unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            libc::AT_FDCWD,
            one.as_ptr(),
            libc::AT_FDCWD,
            other.as_ptr(),
            libc::RENAME_EXCHANGE,
        )
    };
    if failed == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

#[cfg(not(target_os = "linux"))]
fn exchange(_one: &Path, _other: &Path) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Writes a temporary file next to `path`, and renames it to `path` once it is complete and on disk. A path that is not a
/// regular file (a pipe, a terminal, /dev/stdout) is written to directly.
pub fn write_atomically(path: &Path, write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
    let fail = |source| Error::io(path, source);
    if path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        let mut file = File::options().write(true).open(path).map_err(fail)?;
        return write(&mut file).and_then(|()| file.flush()).map_err(fail);
    }
    let permissions = permissions(path);
    let make = |builder: &mut tempfile::Builder<'_, '_>, folder: &Path| {
        builder.permissions(permissions.clone()).tempfile_in(folder)
    };
    let (mut temporary, _lock) = made_beside(path, make)?;
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
