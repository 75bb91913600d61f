//! The words for a search by keyword.

use caseless::Caseless;
use order_view::keywords;
use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(keywords(text).collect::<Vec<_>>(), expected, "{text:?}");
}

#[test]
fn texts_are_split_into_words_and_case_folded() {
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

/// The rules without the fast path for plain words.
fn by_the_rules(text: &str) -> Vec<String> {
    let fold = |word: &str| word.nfd().default_case_fold().nfkd().default_case_fold().nfkc().collect();
    text.unicode_words().map(fold).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_fast_path_gives_the_same_words_as_the_rules(
        plain in "[A-Za-z0-9À-ÿ ]{0,20}",
        nearly in "[A-Za-z0-9\u{80}-\u{17f}'.,:_\u{300} -]{0,20}",
        any in any::<String>(),
    ) {
        for text in [plain, nearly, any] {
            prop_assert_eq!(keywords(&text).collect::<Vec<_>>(), by_the_rules(&text), "{}", text);
        }
    }
}
