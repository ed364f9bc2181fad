//! The C library: the functions that `native/include/loglinear.h` declares and describes.
//!
//! Every function checks its pointers, returns a status, stores the message of a failure for its thread, and catches panics.

mod model;
mod status;
#[cfg(test)]
mod tests;

use crate::c_api::model::{OpenModel, attribute};
use crate::c_api::status::{Failure, Status, call, last_error};
use crate::corpus::sink::Sink;
use std::ffi::{CStr, c_char};
use std::path::Path;
use std::ptr::{self, NonNull};
use std::slice;

/// An attribute of an item: `loglinear_attribute` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Attribute {
    name: *const c_char,
    value: f64,
}

/// An item of a sequence, which gets a label: `loglinear_item` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Item {
    attributes: *const Attribute,
    n_attributes: usize,
}

/// The failure of a call whose argument is NULL.
fn null(argument: &str) -> Failure {
    Failure::misuse(format!("the argument `{argument}` is NULL"))
}

/// The slice that C gives as pointer and length; the pointer may be NULL where the length is 0.
///
/// # Safety
///
/// A pointer other than NULL points to `length` values that nobody changes during `'a`.
unsafe fn values<'a, T>(pointer: *const T, length: usize, argument: &str) -> Result<&'a [T], Failure> {
    match (NonNull::new(pointer.cast_mut()), length) {
        (_, 0) => Ok(&[]),
        (None, _) => Err(null(argument)),
        (Some(_), _) if length > isize::MAX as usize / size_of::<T>().max(1) => {
            Err(Failure::misuse(format!("the length of `{argument}`, {length}, is too large")))
        }
        // SAFETY: as this function's; the length in bytes fits into isize. Test: `tests::every_call_checks_its_arguments`.
        (Some(pointer), _) => Ok(unsafe { slice::from_raw_parts(pointer.as_ptr(), length) }),
    }
}

/// The model that a pointer refers to.
///
/// # Safety
///
/// A pointer other than NULL comes from `loglinear_open` and has not been freed.
unsafe fn opened<'a>(model: *const OpenModel) -> Result<&'a OpenModel, Failure> {
    // SAFETY: as this function's. Test: `tests::a_model_is_opened_and_labels_sequences_and_texts`.
    unsafe { model.as_ref() }.ok_or_else(|| null("model"))
}

/// Writes a result where C wants it.
///
/// # Safety
///
/// A pointer other than NULL may be written to.
unsafe fn give<T>(place: *mut T, value: T, argument: &str) -> Result<(), Failure> {
    let place = NonNull::new(place).ok_or_else(|| null(argument))?;
    // SAFETY: as this function's; `write` drops nothing. Test: `tests::every_call_checks_its_arguments`.
    unsafe { place.write(value) };
    Ok(())
}

#[cfg(unix)]
fn path_of(path: &CStr) -> Result<&Path, Failure> {
    use std::os::unix::ffi::OsStrExt;
    Ok(Path::new(std::ffi::OsStr::from_bytes(path.to_bytes())))
}

#[cfg(not(unix))]
fn path_of(path: &CStr) -> Result<&Path, Failure> {
    path.to_str().map(Path::new).map_err(|_| Failure::misuse("the path is not UTF-8"))
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn loglinear_version() -> *const c_char {
    const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => panic!("a version without NUL"),
    };
    VERSION.as_ptr()
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn loglinear_last_error() -> *const c_char {
    last_error()
}

/// See the header.
///
/// # Safety
///
/// `path` is NULL or a string that ends with NUL; `model` is NULL or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn loglinear_open(path: *const c_char, model: *mut *mut OpenModel) -> Status {
    call(|| {
        // SAFETY: as this function's. Test: `tests::every_call_checks_its_arguments`.
        unsafe { give(model, ptr::null_mut(), "model") }?;
        if path.is_null() {
            return Err(null("path"));
        }
        // SAFETY: as this function's. Test: as above.
        let path = unsafe { CStr::from_ptr(path) };
        let opened = Box::into_raw(Box::new(OpenModel::open(path_of(path)?)?));
        // SAFETY: as this function's. Test: `tests::a_model_is_opened_and_labels_sequences_and_texts`.
        unsafe { give(model, opened, "model") }
    })
}

/// See the header.
///
/// # Safety
///
/// `model` is NULL, or comes from `loglinear_open`, has not been freed, and no other call uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn loglinear_free(model: *mut OpenModel) {
    call(|| {
        if !model.is_null() {
            // SAFETY: as this function's: the pointer is that of `Box::into_raw`. Test: as above.
            drop(unsafe { Box::from_raw(model) });
        }
        Ok(())
    });
}

/// See the header.
///
/// # Safety
///
/// `model` is NULL or open; `n_labels` is NULL or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn loglinear_n_labels(model: *const OpenModel, n_labels: *mut usize) -> Status {
    // SAFETY: as this function's. Test: `tests::every_call_checks_its_arguments`.
    call(|| unsafe { give(n_labels, opened(model)?.labels.len(), "n_labels") })
}

/// See the header.
///
/// # Safety
///
/// `model` is NULL or open; `name` is NULL or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn loglinear_label_name(model: *const OpenModel, label: u32, name: *mut *const c_char) -> Status {
    call(|| {
        // SAFETY: as this function's. Test: `tests::every_call_checks_its_arguments`.
        let labels = unsafe { &opened(model)?.labels };
        let missing =
            || Failure::misuse(format!("label {label} does not exist; the model has {} labels", labels.len()));
        let label_name = labels.get(label as usize).ok_or_else(missing)?;
        // SAFETY: as this function's. Test: as above.
        unsafe { give(name, label_name.as_ptr(), "name") }
    })
}

/// See the header.
///
/// # Safety
///
/// `model` is NULL or open; `text` is NULL or points to `length` bytes; `labelled` and `labelled_length` are NULL or may be
/// written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn loglinear_label_text(
    model: *const OpenModel,
    text: *const c_char,
    length: usize,
    labelled: *mut *mut c_char,
    labelled_length: *mut usize,
) -> Status {
    call(|| {
        // SAFETY: as this function's. Test: `tests::every_call_checks_its_arguments`.
        let (model, text) = unsafe {
            give(labelled, ptr::null_mut(), "labelled")?;
            (opened(model)?, values(text.cast::<u8>(), length, "text")?)
        };
        let mut bytes = model.label_text(text)?;
        let length = bytes.len();
        // The text ends with NUL, for callers that do not need its length.
        bytes.push(0);
        // SAFETY: `malloc` gives NULL or that many bytes, which `loglinear_free_text` gives back to `free`; the other pointers as
        // this function's. Test: `tests::a_model_is_opened_and_labels_sequences_and_texts`.
        unsafe {
            let place = NonNull::new(libc::malloc(bytes.len()).cast::<u8>());
            let place = place.ok_or_else(|| Failure { status: Status::Internal, message: "out of memory".into() })?;
            ptr::copy_nonoverlapping(bytes.as_ptr(), place.as_ptr(), bytes.len());
            if !labelled_length.is_null() {
                labelled_length.write(length);
            }
            give(labelled, place.as_ptr().cast(), "labelled")
        }
    })
}

/// See the header.
///
/// # Safety
///
/// `text` is NULL, or comes from `loglinear_label_text` and has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn loglinear_free_text(text: *mut c_char) {
    // SAFETY: as this function's: `malloc` gave the text. Test: `tests::a_model_is_opened_and_labels_sequences_and_texts`.
    unsafe { libc::free(text.cast()) }
}

/// See the header.
///
/// # Safety
///
/// `model` is NULL or open; `items` is NULL or points to `n_items` items, each of whose `attributes` is NULL or points to its
/// `n_attributes` attributes, each of whose names is NULL or ends with NUL; `labels` is NULL or points to `n_items` numbers;
/// `marginals` is NULL or points to `n_items` times the number of labels numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn loglinear_label_sequence(
    model: *const OpenModel,
    items: *const Item,
    n_items: usize,
    labels: *mut u32,
    marginals: *mut f64,
) -> Status {
    call(|| {
        // SAFETY: as this function's. Test: `tests::every_call_checks_its_arguments`.
        let (model, items) = unsafe { (opened(model)?, values(items, n_items, "items")?) };
        // Arrays of C may hold no values yet.
        let (mut best, mut probabilities) = (vec![0; n_items], Vec::new());
        if labels.is_null() && n_items > 0 {
            return Err(null("labels"));
        }
        if !marginals.is_null() {
            let size = n_items.checked_mul(model.labels.len());
            probabilities.resize(size.ok_or_else(|| Failure::misuse("too many items"))?, 0.0);
        }
        let wanted = (!marginals.is_null()).then_some(probabilities.as_mut_slice());
        model.label_sequence(&mut best, wanted, |sink| {
            for (number, item) in items.iter().enumerate() {
                // SAFETY: as this function's. Test: as above.
                for entry in unsafe { values(item.attributes, item.n_attributes, "attributes") }? {
                    if entry.name.is_null() {
                        return Err(null("name"));
                    }
                    // SAFETY: as this function's. Test: as above.
                    attribute(sink, number, unsafe { CStr::from_ptr(entry.name) }.to_bytes(), entry.value)?;
                }
                sink.end_token(None);
            }
            Ok(())
        })?;
        // SAFETY: as this function's: arrays that are not NULL are as long as said. Test:
        // `tests::a_model_is_opened_and_labels_sequences_and_texts`.
        unsafe {
            if !labels.is_null() {
                ptr::copy_nonoverlapping(best.as_ptr(), labels, best.len());
            }
            if !marginals.is_null() {
                ptr::copy_nonoverlapping(probabilities.as_ptr(), marginals, probabilities.len());
            }
        }
        Ok(())
    })
}
