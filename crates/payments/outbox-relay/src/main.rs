//! Wires the function.

fn main() {}
