//! What Linux knows of a process: CPU, waiting and memory.

use std::fs::{read_dir, read_to_string};
use std::time::Duration;

use crate::Result;

/// The CPU time that the threads of a process have used, to the nanosecond: user and system together.
///
/// A thread that has ended is not counted, so this is for the difference between two moments close to each other.
pub fn cpu(process_id: u32) -> Result<Duration> {
    let mut on_cpu = Duration::ZERO;
    for thread in read_dir(format!("/proc/{process_id}/task"))? {
        // A thread may end between the listing and the look.
        let Ok(schedule) = read_to_string(thread?.path().join("schedstat")) else { continue };
        on_cpu += Schedule::parse(&schedule)?.on_cpu;
    }
    Ok(on_cpu)
}

/// How long the first thread of a process has had something to do: on a core, or waiting for one. The rest of the time it
/// waits for an answer.
///
/// All handlers here run on their first thread. Node compiles and collects garbage on others meanwhile, so that the CPU of the
/// whole process can be more than the time that has passed.
pub fn busy(process_id: u32) -> Result<Duration> {
    let Schedule { on_cpu, queued } = Schedule::parse(&read_to_string(format!("/proc/{process_id}/schedstat"))?)?;
    Ok(on_cpu + queued)
}

/// What the scheduler knows of a thread. <https://docs.kernel.org/scheduler/sched-stats.html>
#[derive(Debug, PartialEq)]
struct Schedule {
    on_cpu: Duration,
    /// Ready to run, but without a core.
    queued: Duration,
}

impl Schedule {
    fn parse(schedstat: &str) -> Result<Self> {
        let mut numbers = schedstat.split_whitespace().map(|number| number.parse().map(Duration::from_nanos));
        let on_cpu = numbers.next().ok_or("schedstat is empty")??;
        let queued = numbers.next().ok_or("schedstat has one number only")??;
        Ok(Self { on_cpu, queued })
    }
}

/// The most memory that a process has had resident, in bytes.
pub fn peak_memory(process_id: u32) -> Result<u64> {
    let status = read_to_string(format!("/proc/{process_id}/status"))?;
    let kilobytes = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|peak| peak.split_whitespace().next())
        .ok_or("the process has no VmHWM")?;
    Ok(kilobytes.parse::<u64>()? * 1024)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A test that cannot go on should stop there.
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_waits_for_a_core_is_not_idle() {
        let schedule = Schedule::parse("2000 300 7\n").unwrap();
        assert_eq!(schedule, Schedule { on_cpu: Duration::from_micros(2), queued: Duration::from_nanos(300) });
        assert!(Schedule::parse("").is_err());
    }
}
