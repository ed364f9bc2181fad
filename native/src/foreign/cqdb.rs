//! The database of CRFsuite's model files: strings, found by number and by hash.
//!
//! | part | layout, in little-endian 32-bit numbers unless said |
//! | --- | --- |
//! | header | `CQDB`, size, flag 0, 0x62445371, number of strings, offset of the array below |
//! | 256 references | offset of a hash table, or 0; its number of slots: twice the number of strings in it |
//! | records | number of the string, length with the 0 byte, bytes, 0 byte |
//! | hash tables | slots: hash, offset of the record, or 0 |
//! | array | number of the string -> offset of its record |
//!
//! Offsets count from the start of the database. A string is in table hash % 256, at slot (hash >> 8) % slots or the next free one.

use crate::foreign::bytes::{Checked, Cursor};

const TABLES: usize = 256;
const BYTE_ORDER: u32 = 0x6244_5371;
const HEADER: usize = 24 + TABLES * 8;

/// The first `count` strings of the database at byte `start` of a file.
pub(super) fn read(bytes: &[u8], start: usize, count: usize, what: &str) -> Checked<Vec<Vec<u8>>> {
    let mut header = Cursor::new(bytes, start)?;
    header.expect(b"CQDB")?;
    let (_size, _flag, order) = (header.size()?, header.u32()?, header.u32()?);
    if order != BYTE_ORDER {
        return Err(format!("the database of the {what}s was written with another byte order"));
    }
    let (stored, array) = (header.size()?, header.size()?);
    if stored < count {
        return Err(format!("expected {count} {what}s, found {stored}"));
    }
    let mut places = Cursor::new(bytes, start.saturating_add(array))?;
    if places.left() / 4 < count {
        return Err(format!("the file is too short for {count} {what}s"));
    }
    (0..count)
        .map(|number| {
            let mut record = Cursor::new(bytes, start.saturating_add(places.size()?))?;
            let (stored_number, length) = (record.size()?, record.size()?);
            let key = record.take(length)?;
            match key.split_last() {
                Some((0, key)) if stored_number == number && !key.contains(&0) => Ok(key.to_vec()),
                _ => Err(format!("{what} {number} is damaged")),
            }
        })
        .collect()
}

/// The database of these strings, which hold no 0 byte. Error: there are more bytes than 32-bit offsets reach.
pub(super) fn write<'a>(strings: impl Iterator<Item = &'a [u8]>, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + HEADER, 0);
    let mut places: Vec<u32> = Vec::new();
    let mut tables: Vec<Vec<[u32; 2]>> = vec![Vec::new(); TABLES];
    let mut key = Vec::new();
    for string in strings {
        key.clear();
        key.extend_from_slice(string);
        key.push(0);
        let (hash, place) = (hash(&key), (out.len() - start) as u32);
        tables[hash as usize % TABLES].push([hash, place]);
        push(out, &[places.len() as u32, key.len() as u32]);
        out.extend_from_slice(&key);
        places.push(place);
    }
    for (number, table) in tables.iter().enumerate() {
        if table.is_empty() {
            continue;
        }
        let mut slots = vec![[0u32; 2]; table.len() * 2];
        for &[hash, place] in table {
            let mut slot = (hash >> 8) as usize % slots.len();
            while slots[slot][1] != 0 {
                slot = (slot + 1) % slots.len();
            }
            slots[slot] = [hash, place];
        }
        let reference = [(out.len() - start) as u32, slots.len() as u32];
        put(out, start + 24 + number * 8, &reference);
        push(out, slots.as_flattened());
    }
    // The offset of a table without strings is 0, and of an array without strings as well.
    let array = if places.is_empty() { 0 } else { (out.len() - start) as u32 };
    push(out, &places);
    let size = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(b"CQDB");
    put(out, start + 4, &[size, 0, BYTE_ORDER, places.len() as u32, array]);
}

/// Appends numbers.
pub(super) fn push(out: &mut Vec<u8>, numbers: &[u32]) {
    out.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

/// Overwrites the numbers at byte `at`.
pub(super) fn put(out: &mut [u8], at: usize, numbers: &[u32]) {
    for (place, number) in out[at..].chunks_exact_mut(4).zip(numbers) {
        place.copy_from_slice(&number.to_le_bytes());
    }
}

/// Bob Jenkins' hash `lookup3` (2006, public domain), `hashlittle` with the initial value 0.
fn hash(key: &[u8]) -> u32 {
    let start = 0xdead_beef_u32.wrapping_add(key.len() as u32);
    let [mut a, mut b, mut c] = [start; 3];
    let word = |bytes: &[u8], at: usize| {
        (0..4).fold(0, |word, i| word | u32::from(bytes.get(at + i).copied().unwrap_or(0)) << (8 * i))
    };
    let mut rest = key;
    while rest.len() > 12 {
        (a, b, c) = (a.wrapping_add(word(rest, 0)), b.wrapping_add(word(rest, 4)), c.wrapping_add(word(rest, 8)));
        a = a.wrapping_sub(c) ^ c.rotate_left(4);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(6);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(8);
        b = b.wrapping_add(a);
        a = a.wrapping_sub(c) ^ c.rotate_left(16);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(19);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(4);
        b = b.wrapping_add(a);
        rest = &rest[12..];
    }
    if rest.is_empty() {
        return c;
    }
    (a, b, c) = (a.wrapping_add(word(rest, 0)), b.wrapping_add(word(rest, 4)), c.wrapping_add(word(rest, 8)));
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_jenkins_published_ones() {
        assert_eq!(hash(b""), 0xdead_beef);
        assert_eq!(hash(b"Four score and seven years ago"), 0x1777_0551);
    }

    #[test]
    fn strings_come_back_by_number() {
        let strings: Vec<Vec<u8>> = (0..600).map(|n| format!("string {n}").into_bytes()).collect();
        let mut out = vec![1, 2, 3];
        write(strings.iter().map(Vec::as_slice), &mut out);
        assert_eq!(read(&out, 3, 600, "string").unwrap(), strings);
    }
}
