//! Processes several batches at the same time.

use std::num::NonZero;
use std::thread::available_parallelism;

use tokio::task::JoinSet;

use crate::batch::Processor;
use crate::error::Error;
use crate::fold::Quarantined;
use crate::plan::Batch;
use crate::run::{BatchResult, Run};

/// The number of batches at the same time: one per core, and one more that waits for the table.
#[must_use]
pub fn jobs() -> usize {
    available_parallelism().map_or(1, NonZero::get) + 1
}

/// Processes batches, `jobs` at the same time, and writes the result of each after all of it is stored. Calls `done` after each.
///
/// The first error stops all batches. Dropping the future stops them, too. A resumed run repeats the unfinished
/// batches.
pub async fn execute(
    run: &Run,
    processor: &Processor,
    batches: Vec<Batch>,
    jobs: usize,
    mut done: impl FnMut(&BatchResult, &[Quarantined]),
) -> Result<(), Error> {
    let mut waiting = batches.into_iter();
    let mut working = JoinSet::new();
    loop {
        while working.len() < jobs.max(1)
            && let Some(batch) = waiting.next()
        {
            let (run, processor) = (run.clone(), processor.clone());
            working.spawn(async move {
                let (result, quarantine) = processor.process(&batch).await?;
                run.finish(&result, &quarantine).await?;
                Ok::<_, Error>((result, quarantine))
            });
        }
        match working.join_next().await {
            None => return Ok(()),
            Some(finished) => {
                let (result, quarantine) = finished.map_err(|_| Error::Stopped)??;
                done(&result, &quarantine);
            }
        }
    }
}
