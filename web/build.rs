//! Puts the files in `dist`, which `make generated` builds, into the binary that serves them: plain and compressed.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=dist");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let mut code = String::new();
    for (name, folder) in [("PAGE", "dist/page"), ("CONSOLE", "dist/console")] {
        let site = site(name, Path::new(folder), &out)?;
        code.push_str(&site);
    }
    fs::write(out.join("sites.rs"), code)
}

/// The constant of one site.
fn site(name: &str, folder: &Path, out: &Path) -> io::Result<String> {
    let index = fs::read(folder.join("index.html"))?;
    let style = between(&index, b"<style>", b"</style>").ok_or_else(|| io::Error::other("index.html has no style"))?;
    let style_hash = BASE64_STANDARD.encode(Sha256::digest(style));
    let mut files = vec![("/".to_owned(), "text/html; charset=utf-8", folder.join("index.html"))];
    let mut scripts = fs::read_dir(folder.join("assets"))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<Vec<_>>>()?;
    scripts.sort();
    for script in scripts {
        let file_name = script.file_name().and_then(|file_name| file_name.to_str()).unwrap_or_default().to_owned();
        files.push((format!("/assets/{file_name}"), "text/javascript; charset=utf-8", script));
    }
    let mut code =
        format!("/// See [`Site`].\npub static {name}: Site = Site {{ style_hash: {style_hash:?}, files: &[\n");
    for (number, (path, content_type, file)) in files.iter().enumerate() {
        let plain = fs::read(file)?;
        let digest =
            Sha256::digest(&plain).iter().take(16).fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
        let compressed = out.join(format!("{name}-{number}.gz"));
        let mut encoder = GzEncoder::new(fs::File::create(&compressed)?, Compression::best());
        encoder.write_all(&plain)?;
        encoder.finish()?;
        let (plain, compressed) = (fs::canonicalize(file)?, fs::canonicalize(compressed)?);
        let (plain, compressed) = (text(&plain)?, text(&compressed)?);
        // Writing to a `String` never fails.
        let _ = writeln!(
            code,
            "    File {{ path: {path:?}, content_type: {content_type:?}, digest: {digest:?}, plain: include_bytes!({plain:?}), \
             gzip: include_bytes!({compressed:?}) }},"
        );
    }
    code.push_str("] };\n");
    Ok(code)
}

fn text(path: &Path) -> io::Result<&str> {
    path.to_str().ok_or_else(|| io::Error::other(format!("{} is not UTF-8", path.display())))
}

fn between<'a>(text: &'a [u8], begin: &[u8], end: &[u8]) -> Option<&'a [u8]> {
    let find = |text: &[u8], part: &[u8]| text.windows(part.len()).position(|window| window == part);
    let rest = &text[find(text, begin)? + begin.len()..];
    find(rest, end).map(|length| &rest[..length])
}
