#![doc = include_str!("../README.md")]

/// A site as it was built.
#[derive(Debug)]
pub struct Site {
    /// The SHA-256 of the style inside `index.html`, in Base64, for a Content-Security-Policy.
    pub style_hash: &'static str,
    /// `/` first.
    pub files: &'static [File],
}

/// A file of a site.
#[derive(Debug)]
pub struct File {
    /// Where it is, seen from the site's root: `/`, or `/assets/…` with a digest in its name.
    pub path: &'static str,
    /// The media type.
    pub content_type: &'static str,
    /// A digest of the content, in hexadecimal.
    pub digest: &'static str,
    /// The content.
    pub plain: &'static [u8],
    /// The content, compressed.
    pub gzip: &'static [u8],
}

impl Site {
    /// The file at a path such as `/assets/app-ABCD.js`.
    #[must_use]
    pub fn find(&self, path: &str) -> Option<&'static File> {
        self.files.iter().find(|file| file.path == path)
    }
}

impl File {
    /// Whether another content would have another name, so that a client may keep it for good.
    #[must_use]
    pub fn is_immutable(&self) -> bool {
        self.path != "/"
    }
}

include!(concat!(env!("OUT_DIR"), "/sites.rs"));
