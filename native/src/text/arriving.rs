//! Text that arrives bit by bit, through a pipe or from a terminal: a thread reads on while earlier text is worked on.

use crate::error::{Error, Result};
use crate::text::input::{Source, open_file};
use crate::threads::{Interrupt, locked};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often a waiting thread looks whether it should stop.
const PERIOD: Duration = Duration::from_millis(50);

/// Bytes that may wait; the thread reads no further until some are taken.
const MOST: usize = 32 << 20;

/// Bytes to ask for at a time.
const READ: usize = 256 << 10;

/// The bytes that a thread has read so far, until they are taken. The thread ends when this is dropped.
pub struct Arriving {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    bytes: Vec<u8>,
    /// How reading ended, once it has.
    end: Option<std::io::Result<()>>,
    /// Whether nobody waits for bytes any more.
    dropped: bool,
}

/// A reader, and the descriptor that tells whether it would block.
pub struct Input {
    pub reader: Box<dyn Read + Send>,
    /// None if it is not known.
    pub descriptor: Option<i32>,
    /// Whether it is a regular file, which never makes a reader wait.
    pub is_regular: bool,
}

impl Input {
    /// A file, such as a named pipe, or standard input for `-`; with its name for messages.
    pub fn open(path: &Path) -> Result<(String, Input)> {
        if path.as_os_str() == "-" {
            let reader = Box::new(std::io::stdin());
            return Ok(("<stdin>".into(), Input { reader, descriptor: Some(0), is_regular: false }));
        }
        let file = open_file(path)?;
        #[cfg(unix)]
        let descriptor = Some(std::os::fd::AsRawFd::as_raw_fd(&file));
        #[cfg(not(unix))]
        let descriptor = None;
        let is_regular = file.metadata().map_err(|source| Error::io(path, source))?.is_file();
        Ok((path.display().to_string(), Input { reader: Box::new(file), descriptor, is_regular }))
    }
}

impl Arriving {
    /// Starts to read.
    pub fn new(input: Input) -> Result<Arriving> {
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("loglinear-input".into());
        let thread = thread
            .spawn(move || of_thread.read(input))
            .map_err(|error| Error::Option(format!("cannot start a reader thread: {error}")))?;
        Ok(Arriving { shared, thread: Some(thread) })
    }

    /// Waits for bytes and appends them to `into`; returns whether the text has ended.
    pub fn take(&self, into: &mut Vec<u8>, interrupt: &Interrupt) -> Result<std::io::Result<bool>> {
        let mut state = locked(&self.shared.state);
        while state.bytes.is_empty() && state.end.is_none() {
            interrupt.check()?;
            let waited = self.shared.changed.wait_timeout(state, PERIOD);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if into.is_empty() {
            std::mem::swap(into, &mut state.bytes);
        } else {
            into.append(&mut state.bytes);
        }
        let end = state.end.take();
        drop(state);
        self.shared.changed.notify_all();
        Ok(end.map_or(Ok(false), |end| end.map(|()| true)))
    }
}

/// A file, or standard input for `-`; waiting for bytes of anything but a regular file ends when the work is interrupted.
pub fn source(path: &Path, interrupt: &Interrupt) -> Result<Source> {
    let (name, input) = Input::open(path)?;
    if input.is_regular {
        return Source::new(&name, input.reader);
    }
    let (arriving, interrupt) = (Arriving::new(input)?, interrupt.clone());
    Source::new(&name, Box::new(Waiting { arriving, interrupt, bytes: Vec::new(), at: 0, ended: false }))
}

/// Reads what arrives.
struct Waiting {
    arriving: Arriving,
    interrupt: Interrupt,
    bytes: Vec<u8>,
    /// Bytes that have been handed over.
    at: usize,
    ended: bool,
}

impl Read for Waiting {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        while self.at == self.bytes.len() && !self.ended {
            (self.bytes, self.at) = (Vec::new(), 0);
            // Not the kind `Interrupted`, after which a reader tries again.
            let taken = self.arriving.take(&mut self.bytes, &self.interrupt).map_err(std::io::Error::other)?;
            self.ended = taken?;
        }
        let count = (&self.bytes[self.at..]).read(into)?;
        self.at += count;
        Ok(count)
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        locked(&self.shared.state).dropped = true;
        self.shared.changed.notify_all();
        // Elsewhere the thread may be waiting for bytes that never come.
        if cfg!(unix)
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Reads until the text ends or nobody waits for more.
    fn read(&self, mut input: Input) {
        let mut buffer = vec![0; READ];
        loop {
            while !is_ready(input.descriptor, READABLE, PERIOD) {
                if locked(&self.state).dropped {
                    return;
                }
            }
            let read = match input.reader.read(&mut buffer) {
                Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => continue,
                read => read,
            };
            let mut state = locked(&self.state);
            match read {
                Ok(0) => state.end = Some(Ok(())),
                Ok(count) => state.bytes.extend_from_slice(&buffer[..count]),
                Err(error) => state.end = Some(Err(error)),
            }
            self.changed.notify_all();
            while state.bytes.len() > MOST && !state.dropped {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if state.end.is_some() || state.dropped {
                return;
            }
        }
    }
}

/// Bytes that a pipe takes at once when it takes any.
const WRITTEN: usize = 4096;

/// Writes bytes to a descriptor whose reader may be slow, and stops when it is interrupted.
pub fn write_interruptibly(
    out: &mut impl Write,
    descriptor: Option<i32>,
    bytes: &[u8],
    interrupt: &Interrupt,
) -> Result<std::io::Result<()>> {
    for part in bytes.chunks(WRITTEN) {
        while !is_ready(descriptor, WRITABLE, PERIOD) {
            interrupt.check()?;
        }
        if let Err(error) = out.write_all(part) {
            return Ok(Err(error));
        }
    }
    Ok(out.flush())
}

#[cfg(unix)]
const READABLE: i16 = libc::POLLIN;
#[cfg(unix)]
const WRITABLE: i16 = libc::POLLOUT;
#[cfg(not(unix))]
const READABLE: i16 = 0;
#[cfg(not(unix))]
const WRITABLE: i16 = 0;

/// Whether a descriptor can be used without waiting; waits so long for it.
#[cfg(unix)]
fn is_ready(descriptor: Option<i32>, events: i16, wait: Duration) -> bool {
    let Some(fd) = descriptor else { return true };
    let mut asked = libc::pollfd { fd, events, revents: 0 };
    // Safety: a pointer to one structure, which outlives the call.
    let ready = unsafe { libc::poll(&raw mut asked, 1, wait.as_millis() as i32) };
    // Any event, an error or the end among them, lets the call that follows return at once.
    ready > 0 || (ready < 0 && std::io::Error::last_os_error().kind() != ErrorKind::Interrupted)
}

#[cfg(not(unix))]
fn is_ready(_: Option<i32>, _: i16, _: Duration) -> bool {
    true
}
