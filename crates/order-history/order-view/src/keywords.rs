//! The words an order can be found by.

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

/// The words of `text`, split on Unicode word boundaries (UAX 29) and case-folded, so that `CRÈME` finds `crème` and
/// `straße` finds `STRASSE`. Composed and decomposed accents are the same word.
pub fn keywords(text: &str) -> impl Iterator<Item = String> {
    text.unicode_words().map(fold_case)
}

fn fold_case(word: &str) -> String {
    // Compatibility forms may decompose into capitals, so what comes of them is folded too.
    word.nfd().default_case_fold().nfkd().default_case_fold().nfkc().collect()
}
