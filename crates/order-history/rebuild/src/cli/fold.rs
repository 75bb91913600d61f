//! `rebuild fold`: folds lines to lines, for use in other engines.

use std::io::{BufRead, BufWriter, Write, stdin, stdout};
use std::sync::Arc;

use order_view::VIEW;
use projection::write_line;
use serde_json::json;

use super::arguments::{Fold as Options, megabytes};
use super::{CLEAN, Failure};
use crate::filter::Filter;
use crate::fold::{Fold, Views};

/// Folds standard input. A line that cannot be read is reported on standard error, and is not a failure: an engine would
/// retry the same lines, and finally fail for all lines.
pub(super) async fn fold(options: &Options) -> Result<u8, Failure> {
    let (memory, whole) = (megabytes(options.memory), options.whole);
    let folded = tokio::task::spawn_blocking(move || fold_lines(memory, whole)).await;
    folded.map_err(|_| crate::Error::Stopped)??;
    Ok(CLEAN)
}

fn fold_lines(memory: usize, whole: bool) -> Result<(), Failure> {
    let mut fold = Fold::new(Arc::new(Filter::default()), memory);
    let (mut input, mut output) = (stdin().lock(), BufWriter::new(stdout().lock()));
    let (mut line, mut number) = (Vec::new(), 0);
    while input.read_until(b'\n', &mut line)? > 0 {
        number += 1;
        let text = line.trim_ascii();
        if text.starts_with(b"{\"Item\"") {
            fold.item("stdin", number, text);
        } else if !text.is_empty() {
            fold.event("stdin", number, text);
        }
        line.clear();
        if fold.is_full() {
            if whole {
                return Err(Failure::Whole);
            }
            write(fold.take(), &mut output)?;
        }
    }
    let (views, summary, quarantine) = fold.finish();
    write(views, &mut output)?;
    output.flush()?;
    for line in quarantine.iter().take(20) {
        eprintln!("{}", json!({"level": "ERROR", "line": line.line, "code": line.code, "message": line.reason}));
    }
    eprintln!("{}", json!({"level": "INFO", "message": "folded", "summary": summary}));
    Ok(())
}

fn write(views: Views, output: &mut impl Write) -> Result<(), Failure> {
    let mut line = Vec::new();
    for (order_id, view) in views {
        line.clear();
        write_line(&VIEW, &order_id, &view, &mut line);
        output.write_all(&line)?;
    }
    Ok(())
}
