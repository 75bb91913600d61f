//! The words for a search by keyword.

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

/// The words of `text`, split on Unicode word boundaries (UAX 29) and case-folded, so that `CRÈME` finds `crème` and
/// `straße` finds `STRASSE`. Composed and decomposed accents are the same word.
pub fn keywords(text: &str) -> impl Iterator<Item = String> {
    // A fast path for plain names, which are most of them.
    let is_plain = text.chars().all(|c| c == ' ' || is_plain(c));
    let plain = is_plain.then(|| text.split(' ').filter(|word| !word.is_empty()).map(str::to_lowercase));
    let any = (!is_plain).then(|| text.unicode_words().map(fold_case));
    plain.into_iter().flatten().chain(any.into_iter().flatten())
}

/// Western European letters and digits that case folding maps to one letter. The sharp s is not one of them.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, 'À'..='ÿ' if !matches!(c, '×' | 'ß' | '÷'))
}

fn fold_case(word: &str) -> String {
    // Compatibility forms may decompose into capitals, so the result is folded again.
    word.nfd().default_case_fold().nfkd().default_case_fold().nfkc().collect()
}
