//! A map of few entries.

use std::borrow::Borrow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

/// A sorted map in one block of memory. An item has few attributes and a rebuild holds millions of items: a tree would have room
/// for eleven entries in each of its nodes.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SmallMap<K, V>(Vec<(K, V)>);

/// A value that is there, or the place where it belongs.
pub(crate) enum Entry<'a, V> {
    There(&'a mut V),
    Missing(usize),
}

impl<K: Ord, V> SmallMap<K, V> {
    /// A map without entries. It has no memory yet.
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    /// Puts a value under a key, and returns the one that was there.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.place(&key) {
            Ok(place) => Some(std::mem::replace(&mut self.0[place].1, value)),
            Err(place) => {
                self.insert_at(place, key, value);
                None
            }
        }
    }

    /// The value under a key.
    pub(crate) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.place(key).ok().map(|place| &self.0[place].1)
    }

    /// Whether there is a value under a key.
    pub(crate) fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.place(key).is_ok()
    }

    /// The value under a key, or where it belongs.
    pub(crate) fn entry<Q: Ord + ?Sized>(&mut self, key: &Q) -> Entry<'_, V>
    where
        K: Borrow<Q>,
    {
        match self.place(key) {
            Ok(place) => Entry::There(&mut self.0[place].1),
            Err(place) => Entry::Missing(place),
        }
    }

    /// Puts a value where [`entry`](Self::entry) said.
    pub(crate) fn insert_at(&mut self, place: usize, key: K, value: V) {
        // It grows in small steps: room that is not used counts in millions of maps.
        if self.0.len() == self.0.capacity() {
            let more = if self.0.is_empty() { 2 } else { 4.max(self.0.len() / 4) };
            self.0.reserve_exact(more);
        }
        self.0.insert(place, (key, value));
    }

    pub(crate) fn get_or_insert_with(&mut self, key: K, value: impl FnOnce() -> V) -> &mut V {
        let place = self.place(&key).unwrap_or_else(|place| {
            self.insert_at(place, key, value());
            place
        });
        &mut self.0[place].1
    }

    pub(crate) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.place(key).ok().map(|place| self.0.remove(place).1)
    }

    fn place<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        // Events come in the order of their ids, more or less, and what they add often belongs at the end.
        if self.0.last().is_some_and(|(last, _)| last.borrow() < key) {
            return Err(self.0.len());
        }
        self.0.binary_search_by(|(known, _)| known.borrow().cmp(key))
    }
}

impl<K, V> SmallMap<K, V> {
    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entries, sorted by key.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (&K, &V)> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// The keys, sorted.
    pub(crate) fn keys(&self) -> impl ExactSizeIterator<Item = &K> {
        self.0.iter().map(|(key, _)| key)
    }

    /// The values, sorted by key.
    pub(crate) fn values(&self) -> impl ExactSizeIterator<Item = &V> {
        self.0.iter().map(|(_, value)| value)
    }

    /// The bytes of memory that it has for its entries, without what they point to.
    pub(crate) fn block_size(&self) -> usize {
        self.0.capacity() * size_of::<(K, V)>()
    }
}

impl<K, V> Default for SmallMap<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for SmallMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SmallMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

impl<K: Ord, V> Extend<(K, V)> for SmallMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<K, V> IntoIterator for SmallMap<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<K: Serialize, V: Serialize> Serialize for SmallMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>> Deserialize<'de> for SmallMap<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

struct Entries<K, V>(PhantomData<(K, V)>);

impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>> Visitor<'de> for Entries<K, V> {
    type Value = SmallMap<K, V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<SmallMap<K, V>, A::Error> {
        let mut map = SmallMap::new();
        while let Some((key, value)) = entries.next_entry()? {
            map.insert(key, value);
        }
        Ok(map)
    }
}

#[cfg(test)]
mod tests {
    use super::SmallMap;

    #[test]
    fn a_map_grows_in_few_steps_and_has_little_unused_room() {
        let mut map = SmallMap::new();
        let mut growths = 0;
        for entries in 1..=1_000_usize {
            let before = map.block_size();
            map.insert(entries, ());
            growths += usize::from(map.block_size() > before);
            let room = map.block_size() / size_of::<(usize, ())>() - entries;
            assert!(room <= 3.max(entries / 4), "{room} at {entries} entries");
        }
        assert!(growths < 40, "{growths}");
    }
}
