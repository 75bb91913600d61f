//! A view's attributes: which of them belong together.

use crate::facet::Facet;

/// What the items of a view are made of.
#[derive(Debug, Clone, Copy)]
pub struct View {
    /// The partition key, a text.
    pub key: &'static str,
    /// Every facet.
    pub facets: &'static [Shape],
    /// Every grow-only set.
    pub sets: &'static [&'static str],
    /// What the names of marks begin with: the kinds of sources that are tracked. A source's own id follows.
    pub marks: &'static [&'static str],
}

/// The attributes of one facet: the constants of [`Facet`].
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
    /// Whether no name stands for two things, or else which one does. [`Table::new`](crate::dynamodb::Table::new) asserts it in
    /// debug builds, so that every test of a view checks it.
    ///
    /// Every attribute has one owner. No attribute's name begins as a mark's, and no kind of mark begins as another, so that no id,
    /// whatever its text, makes a mark into something else. Names are also the aliases of expressions: letters, digits, underscores.
    pub fn check(&self) -> Result<(), String> {
        let of_facets = self.facets.iter().flat_map(|shape| shape.attributes.iter().chain([&shape.watermark]));
        let names: Vec<&str> = of_facets.chain(self.sets).chain([&self.key]).copied().collect();
        for (place, name) in names.iter().enumerate() {
            if names[..place].contains(name) {
                return Err(format!("two parts of the view have the attribute `{name}`"));
            }
            if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                return Err(format!("`{name}` has more than letters, digits and underscores"));
            }
        }
        for (place, kind) in self.marks.iter().enumerate() {
            let others = self.marks.iter().enumerate().filter(|(other, _)| *other != place).map(|(_, other)| other);
            if let Some(name) = names.iter().chain(others).find(|name| name.starts_with(kind)) {
                return Err(format!("`{name}` begins as the names of the marks `{kind}` do"));
            }
        }
        Ok(())
    }
}
