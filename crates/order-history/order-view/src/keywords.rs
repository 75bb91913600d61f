//! The words an order can be found by.

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

/// The words of `text`, split on Unicode word boundaries (UAX 29) and case-folded, so that `CRÈME` finds `crème` and
/// `straße` finds `STRASSE`. Composed and decomposed accents are the same word.
pub fn keywords(text: &str) -> impl Iterator<Item = String> {
    // Most names are plain words, whose boundaries are quickly told.
    let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b' ');
    let plain = is_plain.then(|| text.split(' ').filter(|word| !word.is_empty()));
    let any = (!is_plain).then(|| text.unicode_words());
    plain.into_iter().flatten().chain(any.into_iter().flatten()).map(fold_case)
}

fn fold_case(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    // Compatibility forms may decompose into capitals, so what comes of them is folded too.
    word.nfd().default_case_fold().nfkd().default_case_fold().nfkc().collect()
}
