#![doc = include_str!("../README.md")]

/// A built site.
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
    /// The path below the site's root: `/`, or `/assets/…` with a digest in the name.
    pub path: &'static str,
    /// The media type.
    pub content_type: &'static str,
    /// A digest of the content, in hexadecimal.
    pub digest: &'static str,
    /// The content, not compressed.
    pub plain: &'static [u8],
    /// The content, compressed with gzip.
    pub gzip: &'static [u8],
}

impl Site {
    /// The file at a path such as `/assets/app-ABCD.js`.
    #[must_use]
    pub fn find(&self, path: &str) -> Option<&'static File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The policy of this site. Scripts may send requests to the site's own origin and to these origins.
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

    /// The file that matches a path of an earlier or a later build, whose name differs only in the digest.
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
    /// Whether the name depends on the content, so that a client may cache the file forever.
    #[must_use]
    pub fn is_immutable(&self) -> bool {
        self.path != "/"
    }
}

include!(concat!(env!("OUT_DIR"), "/sites.rs"));
