//! Long texts are cut.

use std::io::Error;

use lambda_boot::{cut, with_causes};

#[test]
fn a_text_is_cut_after_1024_bytes_between_two_characters() {
    assert_eq!(cut("short"), "short");
    let exact = "x".repeat(1_024);
    assert_eq!(cut(&exact), exact);
    assert_eq!(cut(&format!("{exact}y")), exact);
    assert_eq!(cut(&"é".repeat(1_000)), "é".repeat(512));
    assert_eq!(cut(&format!("x{}", "é".repeat(1_000))).len(), 1_023);
}

#[test]
fn an_error_is_cut_with_all_its_causes() {
    let cause = Error::other("cause".repeat(1_000));
    let line = with_causes(&Error::other(cause));
    assert!(line.starts_with("causecause"), "{line}");
    assert_eq!(line.len(), 1_024);
}
