//! Builds the order history again from the archive.

fn main() {}
