//! The hash that decides the bucket of an order.

/// A number that depends only on the order's id, evenly distributed in all bits.
///
/// Files on S3 are sorted into buckets by it, so it is the same in every version of this program: FNV-1a of the id's UTF-8 bytes
/// (<https://datatracker.ietf.org/doc/html/rfc9923>), then the finaliser of `MurmurHash3`, because the low bits of FNV-1a depend on
/// the low bits of the bytes alone.
#[must_use]
pub fn order_hash(order_id: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in order_id.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}
