//! Base64 (RFC 4648, Section 4) without padding: bytes as text that may stand in a line.

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Digit -> its number; 64 for a byte that is no digit.
const NUMBERS: [u8; 256] = numbers();

const fn numbers() -> [u8; 256] {
    let mut numbers = [64; 256];
    let mut at = 0;
    while at < 64 {
        numbers[DIGITS[at] as usize] = at as u8;
        at += 1;
    }
    numbers
}

/// Appends bytes as digits.
pub(super) fn encode(bytes: &[u8], out: &mut String) {
    out.reserve(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let number = (0..3).fold(0, |number, at| number << 8 | u32::from(group.get(at).copied().unwrap_or(0)));
        let digits = (0..=group.len()).map(|at| DIGITS[(number >> (18 - 6 * at)) as usize & 63] as char);
        out.extend(digits);
    }
}

/// The bytes that digits stand for; None if they are not what `encode` writes.
pub(super) fn decode(digits: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for group in digits.chunks(4) {
        let (mut number, mut wrong) = (0, group.len() == 1);
        for at in 0..4 {
            let digit = group.get(at).map_or(0, |&digit| NUMBERS[usize::from(digit)]);
            wrong |= digit == 64;
            number = number << 6 | u32::from(digit);
        }
        let [_, first, second, third] = number.to_be_bytes();
        match group.len() {
            4 => bytes.extend_from_slice(&[first, second, third]),
            3 => bytes.extend_from_slice(&[first, second]),
            _ => bytes.push(first),
        }
        let left = [0, 0, 0xffff, 0xff, 0][group.len()];
        if wrong || number & left != 0 {
            return None;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bytes_are_encoded_as_in_the_examples_of_the_standard() {
        for (bytes, digits) in
            [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE")]
        {
            let mut out = String::new();
            encode(bytes.as_bytes(), &mut out);
            assert_eq!(out, digits);
            assert_eq!(decode(digits.as_bytes()).as_deref(), Some(bytes.as_bytes()));
        }
        for wrong in ["Z", "Zh", "Zm9", "Zg=", "Z g", "Zm9vY"] {
            assert_eq!(decode(wrong.as_bytes()), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn decoding_undoes_encoding(bytes: Vec<u8>) {
            let mut out = String::new();
            encode(&bytes, &mut out);
            prop_assert_eq!(decode(out.as_bytes()), Some(bytes));
        }
    }
}
