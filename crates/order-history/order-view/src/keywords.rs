//! The words an order can be found by.

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

/// The words of `text`, split on Unicode word boundaries (UAX 29) and case-folded, so that `CRÈME` finds `crème` and
/// `straße` finds `STRASSE`. Composed and decomposed accents are the same word.
pub fn keywords(text: &str) -> impl Iterator<Item = String> {
    // Most names are plain: their words and their case are quickly told.
    let is_plain = text.chars().all(|c| c == ' ' || is_plain(c));
    let plain = is_plain.then(|| text.split(' ').filter(|word| !word.is_empty()).map(str::to_lowercase));
    let any = (!is_plain).then(|| text.unicode_words().map(fold_case));
    plain.into_iter().flatten().chain(any.into_iter().flatten())
}

/// Letters and digits of Western Europe that stand for themselves: the sharp s, for one, is folded to two letters.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, 'À'..='ÿ' if !matches!(c, '×' | 'ß' | '÷'))
}

fn fold_case(word: &str) -> String {
    // Compatibility forms may decompose into capitals, so what comes of them is folded too.
    word.nfd().default_case_fold().nfkd().default_case_fold().nfkc().collect()
}
