//! The words an order is found by.

use order_view::keywords;

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(keywords(text).collect::<Vec<_>>(), expected, "{text:?}");
}

#[test]
fn words_are_split_and_folded() {
    check("Chicken Vindaloo", &["chicken", "vindaloo"]);
    check("Mom's #1 Fish & Chips!", &["mom's", "1", "fish", "chips"]);
    check("Straße STRASSE", &["strasse", "strasse"]);
    check("ΣΊΣΥΦΟΣ σίσυφος", &["σίσυφοσ", "σίσυφοσ"]);
    check("\u{1d400}janta", &["ajanta"]);
    check("", &[]);
    check("🍕 – !", &[]);
}

#[test]
fn composed_and_decomposed_accents_are_one_word() {
    check("Cr\u{e8}me CRE\u{300}ME", &["cr\u{e8}me", "cr\u{e8}me"]);
}

#[test]
fn scripts_without_spaces_have_words_too() {
    check("寿司", &["寿", "司"]);
    check("Борщ", &["борщ"]);
}
