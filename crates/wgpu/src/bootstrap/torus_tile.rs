//! What a workgroup of `key_switch_torus` holds: a pure function of the shape.

use girih_backend::BootstrapShape;

/// Ciphertexts that share each load of the key.
const CIPHERTEXTS: usize = 4;
/// Most words of workgroup memory that digits may take.
const DIGIT_WORDS: usize = 2048;
/// Most indices whose digits are there at once.
const INDICES: usize = 64;
/// Most rows of the key that a thread asks for before it adds them up.
const UNROLL: usize = 8;
/// Bits of a limb of a key's word.
const LIMB_BITS: u32 = 16;

/// The tile of one workgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TorusTile {
    /// Vectors of two words side by side, a thread each.
    pub lanes: usize,
    /// Threads; those beyond `lanes` only take digits apart.
    pub threads: usize,
    pub ciphertexts: usize,
    /// Indices whose digits are in workgroup memory at once.
    pub indices: usize,
    /// Rows asked for before they are added up.
    pub unroll: usize,
}

impl TorusTile {
    /// Of at most `most` threads, a power of two.
    pub fn new(shape: &BootstrapShape, most: usize) -> Self {
        let vectors = Self::vectors(shape);
        let lanes = vectors.div_ceil(vectors.div_ceil(most));
        let digits = shape.ks_digits();
        // A digit is at most B/2, so that 2^16 / B products with limbs stay below 2^31.
        let rows = 1usize << (LIMB_BITS - shape.log2_ks_base);
        let indices = INDICES.min(rows / digits).min(DIGIT_WORDS / (CIPHERTEXTS * digits)).max(1);
        Self {
            lanes,
            threads: lanes.next_multiple_of(32).max(64),
            ciphertexts: CIPHERTEXTS,
            indices,
            unroll: if digits <= UNROLL { digits } else { 1 },
        }
    }

    /// 16-byte vectors of a row of the key.
    pub fn vectors(shape: &BootstrapShape) -> usize {
        shape.switched_len().div_ceil(2)
    }

    /// Workgroups side by side.
    pub fn column_groups(&self, shape: &BootstrapShape) -> usize {
        Self::vectors(shape).div_ceil(self.lanes)
    }

    pub fn workgroup_bytes(&self, shape: &BootstrapShape) -> usize {
        4 * self.indices * shape.ks_digits() * self.ciphertexts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use girih_backend::bootstrap::synthetic::torus_shape;

    #[test]
    fn sums_of_a_tile_fit_32_bits_whatever_the_base() {
        for log2_ks_base in 1..=12u32 {
            for digits in 1..=40 / log2_ks_base {
                let shape = BootstrapShape {
                    lwe_dimension: 918,
                    log2_ks_modulus: log2_ks_base * digits,
                    log2_ks_base,
                    ..torus_shape(2048, 23, 1, 1)
                };
                let tile = TorusTile::new(&shape, 256);
                let rows = (tile.indices * shape.ks_digits()) as i64;
                let most = rows * (1 << (log2_ks_base - 1)) * ((1 << LIMB_BITS) - 1);
                assert!(most < 1 << 31, "{shape:?}: {most}");
                assert!(tile.workgroup_bytes(&shape) <= 16 << 10 && tile.threads <= 256);
                assert_eq!(rows as usize % tile.unroll, 0);
                for most in [64, 128, 256] {
                    let TorusTile { lanes, threads, .. } = TorusTile::new(&shape, most);
                    let tile = TorusTile::new(&shape, most);
                    assert!(lanes <= threads && threads <= most, "{tile:?}");
                    assert!(lanes * tile.column_groups(&shape) >= TorusTile::vectors(&shape));
                }
            }
        }
    }
}
