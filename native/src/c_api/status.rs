//! What a call returns, and the message of the last call that failed on each thread. No panic leaves a call.

use crate::error::{Error, message_of};
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How a call ended: `loglinear_status` of the header.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    Ok = 0,
    /// An argument that the header does not allow.
    Misuse = 1,
    /// A failure of the operating system to read a file.
    Io = 2,
    /// A file that is not a valid model.
    Model = 3,
    /// Bad content of a text or of attributes.
    Data = 4,
    /// A mistake of this library.
    Internal = 5,
}

/// A call that failed, with the message for `loglinear_last_error`.
pub struct Failure {
    pub status: Status,
    pub message: String,
}

impl Failure {
    /// An argument that the header does not allow.
    pub fn misuse(message: impl Into<String>) -> Self {
        Failure { status: Status::Misuse, message: message.into() }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let status = match error {
            Error::Io { .. } => Status::Io,
            Error::ModelFile(_) => Status::Model,
            Error::Data(_) | Error::Template(_) => Status::Data,
            Error::Option(_) => Status::Misuse,
            Error::Interrupted => Status::Internal,
        };
        Failure { status, message: error.to_string() }
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Runs the work of a call; keeps the message of its failure, or of its panic, for this thread.
pub fn call(work: impl FnOnce() -> Result<(), Failure>) -> Status {
    let failure = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return Status::Ok,
        Ok(Err(failure)) => failure,
        Err(panic) => {
            let message = format!("internal error, please report it: {}", message_of(&*panic));
            Failure { status: Status::Internal, message }
        }
    };
    let text = CString::new(failure.message.replace('\0', " ")).unwrap_or_default();
    // A thread that is ending has no place for a message any more.
    let _ = LAST.try_with(|last| last.replace(text));
    failure.status
}

/// The message of the last call that failed on this thread; empty if none did.
pub fn last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    fn last() -> String {
        // SAFETY: the text stays until the next call on this thread. Test: this one.
        unsafe { CStr::from_ptr(last_error()) }.to_str().unwrap().into()
    }

    #[test]
    fn a_panic_becomes_a_status_and_each_thread_has_its_own_message() {
        assert_eq!(call(|| Err(Failure::misuse("first\0second"))), Status::Misuse);
        assert_eq!(last(), "first second");
        let other = std::thread::spawn(|| {
            assert_eq!(last(), "");
            assert_eq!(call(|| panic!("number {}", 7)), Status::Internal);
            last()
        });
        assert_eq!(other.join().unwrap(), "internal error, please report it: number 7");
        assert_eq!(call(|| Ok(())), Status::Ok);
        assert_eq!(last(), "first second");
    }
}
