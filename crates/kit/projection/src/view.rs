//! A view's attributes: which of them belong together.

#[cfg(feature = "dynamodb")]
use crate::canonical::set_elements;
use crate::facet::Facet;
#[cfg(feature = "dynamodb")]
use crate::facet::{Fault, Unwritable};
#[cfg(feature = "dynamodb")]
use crate::piece::Piece;

/// The attributes of the items of a view. It is exhaustive, because you declare it as a constant.
#[derive(Debug, Clone, Copy)]
pub struct View {
    /// The partition key, a text.
    pub key: &'static str,
    /// The facets.
    pub facets: &'static [Shape],
    /// The attributes that are grow-only sets of texts.
    pub sets: &'static [&'static str],
    /// The prefixes of marks: the kinds of sources that are tracked. A source's own id follows.
    pub marks: &'static [&'static str],
}

/// The attributes of one facet: the constants of [`Facet`]. [`Shape::of`] creates it. It is exhaustive, so that a test can construct it.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)] // They are the trait's.
pub struct Shape {
    pub watermark: &'static str,
    pub attributes: &'static [&'static str],
    pub text_sets: &'static [&'static str],
}

impl Shape {
    /// The shape of a facet's type.
    #[must_use]
    pub const fn of<F: Facet>() -> Self {
        Self { watermark: F::WATERMARK, attributes: F::ATTRIBUTES, text_sets: F::TEXT_SETS }
    }
}

impl View {
    /// Checks that no name has two meanings; the error is a message with a name that has. A `dynamodb::Table` asserts this in
    /// debug builds.
    ///
    /// Every attribute has one owner. No attribute starts with a mark's prefix, and no prefix with another, so that no id, whatever
    /// its text, makes a mark into something else. Names are also aliases in expressions; those that begin with `eventId` or `tracking`
    /// are reserved for other aliases.
    pub fn check(&self) -> Result<(), String> {
        let of_facets = self.facets.iter().flat_map(|shape| shape.attributes.iter().chain([&shape.watermark]));
        let names: Vec<&str> = of_facets.chain(self.sets).chain([&self.key]).copied().collect();
        for (place, name) in names.iter().enumerate() {
            let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if name.is_empty() || !is_plain || name.starts_with("eventId") || name.starts_with("tracking") {
                return Err(format!("`{name}` cannot be an alias in an expression"));
            }
            if names[..place].contains(name) {
                return Err(format!("two parts of the view have the attribute `{name}`"));
            }
        }
        for (place, prefix) in self.marks.iter().enumerate() {
            let others = self.marks.iter().enumerate().filter(|(other, _)| *other != place).map(|(_, other)| other);
            if let Some(name) = names.iter().chain(others).find(|name| name.starts_with(prefix)) {
                return Err(format!("`{name}` starts with the mark prefix `{prefix}`"));
            }
        }
        let stray = |shape: &&Shape| shape.text_sets.iter().any(|set| !shape.attributes.contains(set));
        self.facets.iter().find(stray).map_or(Ok(()), |shape| {
            Err(format!("a text set of the facet under `{}` is none of its attributes", shape.watermark))
        })
    }

    /// Whether an attribute with this name is a mark.
    pub(crate) fn has_mark(&self, name: &str) -> bool {
        self.marks.iter().any(|prefix| name.starts_with(prefix))
    }

    /// Checks that the view has what `piece` writes.
    #[cfg(feature = "dynamodb")]
    pub(crate) fn check_piece(&self, piece: &Piece) -> Result<(), Unwritable> {
        let is_declared = match piece {
            Piece::Mark { attribute, .. } => self.has_mark(attribute),
            Piece::Facet { watermark, attributes, .. } => {
                let shape = self.facets.iter().find(|shape| shape.watermark == watermark);
                let is_no_set = |shape: &Shape, (name, value): &(&str, &str)| {
                    shape.text_sets.contains(name) && set_elements(value).is_none()
                };
                if let Some((name, _)) = shape.and_then(|shape| attributes.iter().find(|one| is_no_set(shape, one))) {
                    return Err(Unwritable { attribute: name.to_owned(), fault: Fault::NoTextSet, source: None });
                }
                shape.is_some_and(|shape| attributes.iter().all(|(name, _)| shape.attributes.contains(&name)))
            }
            Piece::Element { set, .. } => self.sets.contains(&&**set),
        };
        if is_declared {
            return Ok(());
        }
        Err(Unwritable { attribute: piece.decided_by().0.to_owned(), fault: Fault::Undeclared, source: None })
    }
}
