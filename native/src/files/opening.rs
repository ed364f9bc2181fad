//! Opening files whose names others may control: nothing here waits for a writer, and nothing is written through a link.

use crate::error::{Error, Result};
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a file to read, on Linux without waiting for the writer of a named pipe. Reads of a pipe or a device return at once, too,
/// with the error `WouldBlock`. Other systems show a pipe that no writer has opened yet as one at its end.
pub fn open_at_once(path: &Path) -> io::Result<File> {
    flagged(File::options().read(true), nonblocking()).open(path)
}

/// Opens a regular file to read. Error: it is a folder, a pipe or a device.
pub fn open_regular(path: &Path) -> Result<File> {
    checked(path, open_at_once(path))
}

/// Opens or creates a regular file to write, in a folder that may come from elsewhere. Error: it is a symbolic link, which is not
/// followed, or not a regular file.
pub fn open_in_place(path: &Path, options: &mut OpenOptions) -> Result<File> {
    refuse_link(path)?;
    // The flag is for a link that appears meanwhile.
    checked(path, flagged(options, nonblocking() | no_link()).open(path))
}

/// Error: a file in a folder that may come from elsewhere is a symbolic link.
pub fn refuse_link(path: &Path) -> Result<()> {
    if path.is_symlink() {
        return Err(Error::Data(format!(
            "{}: a symbolic link, through which nothing is written; replace it with a copy of its file",
            path.display()
        )));
    }
    Ok(())
}

fn checked(path: &Path, opened: io::Result<File>) -> Result<File> {
    let file = match opened {
        Ok(file) if file.metadata().map_err(|source| Error::io(path, source))?.is_file() => return Ok(file),
        other => other,
    };
    // A pipe that nobody reads cannot be opened to write.
    if let Err(source) = file
        && !path.metadata().is_ok_and(|there| !there.is_file())
    {
        return Err(Error::io(path, source));
    }
    Err(Error::Data(format!("{}: not a regular file; give the name of a regular file", path.display())))
}

#[cfg(unix)]
fn flagged(options: &mut OpenOptions, flags: i32) -> &mut OpenOptions {
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn nonblocking() -> i32 {
    libc::O_NONBLOCK
}

#[cfg(unix)]
fn no_link() -> i32 {
    libc::O_NOFOLLOW
}

#[cfg(not(unix))]
fn flagged(options: &mut OpenOptions, _flags: i32) -> &mut OpenOptions {
    options
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn nonblocking() -> i32 {
    0
}

#[cfg(not(unix))]
fn no_link() -> i32 {
    0
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn nothing_is_written_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, "data").unwrap();
        symlink(&target, &link).unwrap();
        let error = open_in_place(&link, File::options().write(true).create(true).truncate(true)).unwrap_err();
        assert!(error.to_string().contains("link: a symbolic link"), "{error}");
        assert_eq!(fs::read(&target).unwrap(), b"data");
        open_regular(&link).unwrap();
        open_in_place(&target, File::options().write(true)).unwrap();
    }

    #[test]
    fn a_pipe_is_opened_at_once_and_is_no_regular_file() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        open_at_once(&pipe).unwrap();
        assert!(open_regular(&pipe).unwrap_err().to_string().contains("not a regular file"));
        let error = open_in_place(&pipe, File::options().write(true)).unwrap_err();
        assert!(error.to_string().contains("not a regular file"), "{error}");
    }
}
