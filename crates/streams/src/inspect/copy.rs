//! Copies of parts of a memory that other processes write: what was copied does not change any more.

/// What a memory is read from.
pub(super) trait Source {
    /// Length of the memory.
    fn len(&self) -> u64;
    /// Fills `bytes` from the place `at` on. False if the memory does not have that many.
    fn read(&self, at: u64, bytes: &mut [u8]) -> bool;
}

/// A copy of a part of the memory.
#[derive(Debug)]
pub(super) struct Words {
    bytes: Vec<u8>,
}

impl Words {
    /// Copies `len` bytes from the place `at` on. None if the memory does not have that many.
    pub fn read(source: &dyn Source, at: usize, len: usize) -> Option<Words> {
        let mut bytes = vec![0; len];
        source.read(at as u64, &mut bytes).then_some(Words { bytes })
    }

    /// A word of four bytes; 0 beyond the end.
    pub fn word(&self, at: usize) -> u32 {
        self.part(at, 4).first_chunk().copied().map_or(0, u32::from_ne_bytes)
    }

    /// A word of eight bytes; 0 beyond the end.
    pub fn double(&self, at: usize) -> u64 {
        self.part(at, 8).first_chunk().copied().map_or(0, u64::from_ne_bytes)
    }

    /// Several words of eight bytes.
    pub fn doubles<const N: usize>(&self, at: usize) -> [u64; N] {
        std::array::from_fn(|index| self.double(at + 8 * index))
    }

    /// Bytes; none if they are not all there.
    pub fn part(&self, at: usize, len: usize) -> &[u8] {
        self.bytes.get(at..at.saturating_add(len)).unwrap_or_default()
    }
}
