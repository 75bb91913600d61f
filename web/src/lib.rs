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

    /// What a browser may load for this site, and whom it may call: where the site comes from, and these origins.
    #[must_use]
    pub fn content_security_policy(&self, origins: &[String]) -> String {
        let mut policy = format!(
            "default-src 'none'; script-src 'self'; style-src 'sha256-{}'; img-src data:; connect-src 'self'",
            self.style_hash
        );
        for origin in origins {
            policy.push(' ');
            policy.push_str(origin);
        }
        policy.push_str(
            "; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
             trusted-types 'none'",
        );
        policy
    }

    /// The file that this site has instead of that of an earlier or a later build, whose name differs in its digest only.
    #[must_use]
    pub fn find_of_other_build(&self, path: &str) -> Option<&'static File> {
        let wanted = without_digest(path)?;
        self.files.iter().find(|file| without_digest(file.path) == Some(wanted))
    }
}

/// `/assets/app` and `.js` of `/assets/app-ABCD1234.js`.
fn without_digest(path: &str) -> Option<(&str, &str)> {
    let (name, digest) = path.rsplit_once('-')?;
    let (digest, extension) = digest.split_at_checked(8)?;
    digest.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()).then_some((name, extension))
}

impl File {
    /// Whether another content would have another name, so that a client may keep it for good.
    #[must_use]
    pub fn is_immutable(&self) -> bool {
        self.path != "/"
    }
}

include!(concat!(env!("OUT_DIR"), "/sites.rs"));
