//! Formats numbers for people.

/// With commas: `1,234,567`.
#[must_use]
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// With a unit: `999 bytes`, `1.5 GB`.
#[must_use]
#[allow(clippy::cast_precision_loss)] // Two digits are shown.
pub(crate) fn bytes(number: u64) -> String {
    let units = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("KB", 1e3)];
    match units.iter().find(|(_, size)| number as f64 >= *size) {
        Some((unit, size)) => format!("{:.1} {unit}", number as f64 / size),
        None => format!("{number} bytes"),
    }
}

/// The largest two units: `2 h 5 min`, `40 s`.
#[must_use]
pub(crate) fn duration(seconds: u64) -> String {
    match (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0, s) => format!("{s} s"),
        (0, 0, min, s) => format!("{min} min {s} s"),
        (0, h, min, _) => format!("{h} h {min} min"),
        (d, h, ..) => format!("{d} d {h} h"),
    }
}

/// Dollars and cents; more digits below one cent.
#[must_use]
pub(crate) fn dollars(amount: f64) -> String {
    if amount >= 0.01 || amount == 0.0 { format!("${amount:.2}") } else { format!("${amount:.6}") }
}

/// A word of a shell command.
#[must_use]
pub(crate) fn shell_word(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=@,+".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
