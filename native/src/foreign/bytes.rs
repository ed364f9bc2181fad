//! The bytes of a foreign file, read with every length checked against the bytes that are left.

/// What is wrong with a file, without the file's name.
pub(super) type Checked<T> = std::result::Result<T, String>;

/// A place in a file.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// The place `at` of a file.
    pub(super) fn new(bytes: &'a [u8], at: usize) -> Checked<Cursor<'a>> {
        if at > bytes.len() {
            return Err(format!("it refers to byte {at}, but the file has {}", bytes.len()));
        }
        Ok(Cursor { bytes, at })
    }

    /// Bytes before this place.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Bytes after this place.
    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The next bytes.
    pub(super) fn take(&mut self, count: usize) -> Checked<&'a [u8]> {
        if count > self.left() {
            return Err(format!("expected {count} bytes at byte {}, found {}", self.at, self.left()));
        }
        self.at += count;
        Ok(&self.bytes[self.at - count..self.at])
    }

    fn array<const N: usize>(&mut self) -> Checked<[u8; N]> {
        Ok(self.take(N)?.try_into().expect("N bytes"))
    }

    /// Skips the next bytes, which must be these.
    pub(super) fn expect(&mut self, wanted: &[u8]) -> Checked<()> {
        let at = self.at;
        if self.bytes[at..].starts_with(wanted) {
            self.at += wanted.len();
            return Ok(());
        }
        Err(format!("'{}' is missing at byte {at}", wanted.escape_ascii()))
    }

    /// A 32-bit number, little-endian.
    pub(super) fn u32(&mut self) -> Checked<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// A 32-bit number as a size or an offset.
    pub(super) fn size(&mut self) -> Checked<usize> {
        self.u32().map(|number| number as usize)
    }

    /// A double, little-endian.
    pub(super) fn f64(&mut self) -> Checked<f64> {
        self.array().map(f64::from_le_bytes)
    }

    /// A float, little-endian.
    pub(super) fn f32(&mut self) -> Checked<f32> {
        self.array().map(f32::from_le_bytes)
    }

    /// The bytes up to the next byte `end`, which is skipped.
    pub(super) fn until(&mut self, end: u8) -> Checked<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        let length = rest
            .iter()
            .position(|&byte| byte == end)
            .ok_or_else(|| format!("no '{}' after byte {}", end.escape_ascii(), self.at))?;
        self.at += length + 1;
        Ok(&rest[..length])
    }

    /// The next line, without its end; None at the end of the file. Error: the line has no end, so the file was cut short.
    pub(super) fn line(&mut self) -> Checked<Option<&'a [u8]>> {
        if self.left() == 0 {
            return Ok(None);
        }
        let line = self.until(b'\n').map_err(|_| "its last line is incomplete; the file was cut short".to_owned())?;
        Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)))
    }

    /// The lines up to an empty one, or to the end of the file.
    pub(super) fn lines(&mut self) -> Checked<Vec<&'a [u8]>> {
        let mut lines = Vec::new();
        while let Some(line) = self.line()?.filter(|line| !line.is_empty()) {
            lines.push(line);
        }
        Ok(lines)
    }
}

/// A text of the file, which must be UTF-8.
pub(super) fn text(bytes: &[u8], what: &str) -> Checked<String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| format!("the {what} '{}' is not UTF-8", bytes.escape_ascii()))
}

/// A number written in decimal digits.
pub(super) fn number<T: std::str::FromStr>(digits: &[u8], what: &str) -> Checked<T> {
    let wrong = || format!("{what} '{}' is not a number in range", digits.escape_ascii());
    std::str::from_utf8(digits).ok().and_then(|digits| digits.trim().parse().ok()).ok_or_else(wrong)
}
