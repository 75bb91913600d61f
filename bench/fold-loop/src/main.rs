//! A loop that does what a rebuild does with files of the archive. `bench/peers/python/fold.py` does the same as [`Stage::Fold`].
//!
//! A line on standard input is a [`Task`]; when it is done, the program prints a line. The time between the two
//! line to the other. A file is read from the disk once, with the first task that names it.

mod lean;

use std::collections::HashMap;
use std::error::Error;
use std::hint::black_box;
use std::io::stdin;
use std::path::PathBuf;
use std::sync::Arc;

use mimalloc::MiMalloc;
use order_events::Message;
use order_view::VIEW;
use projection::write_line;
use rebuild::filter::Filter;
use rebuild::fold::{Fold, Views};
use serde::Deserialize;

/// The same allocator as in `rebuild`, so that the comparison does not depend on it.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What to do.
#[derive(Debug, Deserialize)]
struct Task {
    stage: Stage,
    file: PathBuf,
}

/// The last stage to run. Each stage includes the earlier ones, except for the first and the last.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Stage {
    /// Read and decode the file, for the next stages.
    Load,
    /// Parse the messages of the decoded file with derived code that borrows where possible and checks nothing: the floor.
    Lean,
    /// Decompress the file, and split it into lines.
    Decode,
    /// Read the messages.
    Parse,
    /// Fold the events into views.
    Fold,
    /// Write the views as lines of DynamoDB JSON.
    Write,
    /// Fold, and keep the views in memory.
    Hold,
}

fn main() -> Result<()> {
    let (mut files, mut decoded) = (HashMap::new(), HashMap::new());
    let mut held = Vec::new();
    for line in stdin().lines() {
        let Task { stage, file } = serde_json::from_str(&line?)?;
        if let Stage::Hold = stage {
            held.push(fold(&std::fs::read(file)?)?);
            println!("done");
            continue;
        }
        if !files.contains_key(&file) {
            files.insert(file.clone(), std::fs::read(&file)?);
        }
        let bytes = &files[&file];
        match stage {
            Stage::Load => _ = decoded.insert(file, lines(bytes)?),
            Stage::Lean => {
                let lines: &Vec<String> = decoded.get(&file).ok_or("the file is not loaded")?;
                lines.iter().try_for_each(|line| lean::read(line))?;
            }
            Stage::Decode => archive::read(bytes, |record| _ = black_box(record))?,
            Stage::Parse => archive::read(bytes, |record| {
                let text = str::from_utf8(record.text);
                _ = black_box(text.map(Message::parse));
            })?,
            Stage::Fold => drop(black_box(fold(bytes)?)),
            Stage::Write => {
                let mut out = Vec::new();
                for (order_id, state) in fold(bytes)? {
                    write_line(&VIEW, &order_id, &state, &mut out);
                }
                black_box(out);
            }
            Stage::Hold => {}
        }
        println!("done");
    }
    Ok(())
}

/// The lines of a file.
fn lines(bytes: &[u8]) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    archive::read(bytes, |record| lines.push(String::from_utf8_lossy(record.text).into_owned()))?;
    Ok(lines)
}

fn fold(bytes: &[u8]) -> Result<Views> {
    let mut fold = Fold::new(Arc::new(Filter::default()), usize::MAX);
    fold.file("", bytes, |_| {});
    let (views, summary, _) = fold.finish();
    match summary.lines_quarantined() {
        0 if summary.damaged.is_empty() => Ok(views),
        _ => Err(format!("some lines of the file are unreadable: {summary:?}").into()),
    }
}
