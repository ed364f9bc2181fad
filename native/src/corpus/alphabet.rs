//! The alphabet: attributes by their 64-bit keys, numbered as they first appear.

use crate::numeric::store::Store;

/// Marks an empty slot.
const EMPTY: u32 = u32::MAX;

/// An open-addressing table from keys to ids. Ids count up from 0 in the sequence of insertion.
#[derive(Clone, Default)]
pub struct Alphabet {
    /// Ids, or `EMPTY`. Keys are compared in `keys`, so that the table stays small. The length is a power of two, and at most
    /// 3/5 of the slots are full. An alphabet that was opened from a file has none until an attribute is inserted.
    slots: Vec<u32>,
    /// Id -> key.
    keys: Store<u64>,
    /// All names, one after the other.
    text: Store<u8>,
    /// Id -> end of its name in `text`.
    ends: Store<usize>,
}

impl Alphabet {
    /// The alphabet of these keys and names, each id's key once; `ends` says where the names end in `text`.
    pub fn of_parts(keys: Store<u64>, text: Store<u8>, ends: Store<usize>) -> Alphabet {
        Alphabet { slots: Vec::new(), keys, text, ends }
    }

    /// Keys, names and ends of names, by id; see `of_parts`.
    pub fn parts(&self) -> (&Store<u64>, &Store<u8>, &Store<usize>) {
        (&self.keys, &self.text, &self.ends)
    }

    pub fn len(&self) -> usize {
        self.keys.len()
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The slot of a key, or the empty slot where the key would be inserted.
    #[inline(always)]
    fn find(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = key as usize & mask;
        loop {
            let id = self.slots[slot];
            if id == EMPTY || self.keys[id as usize] == key {
                return slot;
            }
            slot = (slot + 1) & mask;
        }
    }

    /// The id of a key, if it is known. The alphabet must have been made by inserting, not opened from a file.
    #[inline]
    pub fn get(&self, key: u64) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        Some(self.slots[self.find(key)]).filter(|&id| id != EMPTY)
    }

    /// The id of a key, which is inserted if it is new; `write` then appends its name.
    #[inline(always)]
    pub fn intern(&mut self, key: u64, write: impl FnOnce(&mut Vec<u8>)) -> u32 {
        if self.keys.len() * 5 >= self.slots.len() * 3 {
            self.resize((self.keys.len() * 2).next_power_of_two().max(1 << 12));
        }
        let slot = self.find(key);
        let id = self.slots[slot];
        if id != EMPTY {
            return id;
        }
        let id = u32::try_from(self.keys.len()).ok().filter(|&id| id != EMPTY).expect("fewer than 2^32 - 1 attributes");
        self.slots[slot] = id;
        self.keys.to_mut().push(key);
        write(self.text.to_mut());
        let end = self.text.len();
        self.ends.to_mut().push(end);
        id
    }

    /// Rebuilds the table with `size` slots.
    #[cold]
    fn resize(&mut self, size: usize) {
        self.slots = vec![EMPTY; size];
        let mask = size - 1;
        for (id, &key) in self.keys.iter().enumerate() {
            // All keys differ: the first empty slot is the right one.
            let mut slot = key as usize & mask;
            while self.slots[slot] != EMPTY {
                slot = (slot + 1) & mask;
            }
            self.slots[slot] = id as u32;
        }
    }

    pub fn key(&self, id: u32) -> u64 {
        self.keys[id as usize]
    }

    /// The name of an id.
    pub fn text(&self, id: u32) -> &[u8] {
        let id = id as usize;
        let start = if id == 0 { 0 } else { self.ends[id - 1] };
        &self.text[start..self.ends[id]]
    }

    /// Bytes of memory taken.
    pub fn n_bytes(&self) -> usize {
        size_of_val(self.slots.as_slice()) + self.keys.n_bytes() + self.ends.n_bytes() + self.text.n_bytes()
    }

    /// Inserts the attributes of another alphabet, lowest id first; returns the map from its ids to the ids here.
    pub fn absorb(&mut self, other: &Alphabet) -> Vec<u32> {
        const BATCH: usize = 32;
        let mut map = Vec::with_capacity(other.len());
        for keys in other.keys.chunks(BATCH) {
            // Reads the slots of a whole batch first, so that the processor waits for many cache lines at once.
            if !self.slots.is_empty() {
                let mask = self.slots.len() - 1;
                std::hint::black_box(keys.iter().fold(0, |all, &key| all ^ self.slots[key as usize & mask]));
            }
            for &key in keys {
                let id = map.len() as u32;
                map.push(self.intern(key, |text| text.extend_from_slice(other.text(id))));
            }
        }
        map
    }

    /// Gives back memory that was reserved for growth.
    pub fn shrink(&mut self) {
        self.keys.to_mut().shrink_to_fit();
        self.text.to_mut().shrink_to_fit();
        self.ends.to_mut().shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::hash::key_of;

    #[test]
    fn ids_are_in_order_of_first_appearance_and_survive_growth() {
        let mut alphabet = Alphabet::default();
        for round in 0..2 {
            for i in 0..1000u32 {
                let name = format!("name{i}");
                let id = alphabet.intern(key_of(name.as_bytes()), |t| t.extend_from_slice(name.as_bytes()));
                assert_eq!(id, i, "round {round}");
            }
        }
        assert_eq!(alphabet.text(999), b"name999");
        let (keys, text, ends) = alphabet.parts();
        let mut again = Alphabet::of_parts(keys.clone(), text.clone(), ends.clone());
        assert_eq!(again.intern(key_of(b"name7"), |_| panic!("it is known")), 7);
        assert_eq!(again.intern(key_of(b"name1000"), |t| t.extend_from_slice(b"name1000")), 1000);
        assert_eq!(again.text(1000), b"name1000");
    }
}
