//! Sums of MACs: each is the multiset of a table's rows in 32 bytes, and changes with every row that is added or removed.

/// The rows of a table. Additions wrap, so that rows may be removed before they are added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) rows: i64,
    /// Modulo 2^256, least significant part first.
    limbs: [u64; 4],
}

const SUM_BYTES: usize = 40;

impl Sum {
    pub(crate) fn add(&mut self, mac: &[u8; 32]) {
        self.rows = self.rows.wrapping_add(1);
        self.add_limbs(limbs_of(mac));
    }

    pub(crate) fn remove(&mut self, mac: &[u8; 32]) {
        self.rows = self.rows.wrapping_sub(1);
        // Adding the complement and one subtracts.
        self.add_limbs(limbs_of(mac).map(|limb| !limb));
        self.add_limbs([1, 0, 0, 0]);
    }

    pub(crate) fn join(&mut self, other: &Sum) {
        self.rows = self.rows.wrapping_add(other.rows);
        self.add_limbs(other.limbs);
    }

    fn add_limbs(&mut self, other: [u64; 4]) {
        let mut carry = false;
        for (limb, added) in self.limbs.iter_mut().zip(other) {
            let (sum, first) = limb.overflowing_add(added);
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            (*limb, carry) = (sum, first || second);
        }
    }

    pub(crate) fn bytes(&self) -> [u8; SUM_BYTES] {
        let mut bytes = [0; SUM_BYTES];
        bytes[..8].copy_from_slice(&self.rows.to_be_bytes());
        for (place, limb) in bytes[8..].chunks_exact_mut(8).zip(self.limbs) {
            place.copy_from_slice(&limb.to_be_bytes());
        }
        bytes
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let number = |at: usize| bytes.get(at..at + 8)?.try_into().ok().map(u64::from_be_bytes);
        let limbs = [number(8)?, number(16)?, number(24)?, number(32)?];
        Some(Self { rows: number(0)?.cast_signed(), limbs })
    }
}

fn limbs_of(mac: &[u8; 32]) -> [u64; 4] {
    std::array::from_fn(|place| {
        let bytes = mac[place * 8..][..8].try_into().expect("BUG: four times eight bytes");
        u64::from_be_bytes(bytes)
    })
}

/// The sums of all tables, by name. A table without rows has none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sums(Vec<(String, Sum)>);

impl Sums {
    pub(crate) fn of(&self, table: &str) -> Sum {
        self.0.iter().find(|(name, _)| name == table).map(|(_, sum)| *sum).unwrap_or_default()
    }

    /// Adds what changed in a table.
    pub(crate) fn apply(&mut self, table: &str, change: &Sum) {
        match self.0.iter_mut().find(|(name, _)| name == table) {
            Some((_, sum)) => sum.join(change),
            None => self.0.push((table.to_owned(), *change)),
        }
        self.0.retain(|(_, sum)| *sum != Sum::default());
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (name, sum) in &self.0 {
            bytes.push(u8::try_from(name.len()).expect("BUG: a table has a short name"));
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(&sum.bytes());
        }
        bytes
    }

    /// `None` for bytes that [`Sums::bytes`] cannot have written.
    pub(crate) fn parse(mut bytes: &[u8]) -> Option<Self> {
        let mut sums = Vec::new();
        while let Some((length, rest)) = bytes.split_first() {
            let (name, rest) = rest.split_at_checked(usize::from(*length))?;
            let (sum, rest) = rest.split_at_checked(SUM_BYTES)?;
            sums.push((String::from_utf8(name.to_vec()).ok()?, Sum::parse(sum)?));
            bytes = rest;
        }
        Some(Self(sums))
    }
}
