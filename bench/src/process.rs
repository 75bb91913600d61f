//! What Linux knows of a process: CPU and memory.

use std::fs::{read_dir, read_to_string};
use std::time::Duration;

use crate::Result;

/// The CPU time that the threads of a process have used, to the nanosecond: user and system together.
///
/// A thread that has ended is not counted, so this is for the difference between two moments close to each other.
pub fn cpu(process_id: u32) -> Result<Duration> {
    let mut nanoseconds = 0;
    for thread in read_dir(format!("/proc/{process_id}/task"))? {
        // A thread may end between the listing and the look.
        let Ok(schedule) = read_to_string(thread?.path().join("schedstat")) else { continue };
        let on_cpu = schedule.split_whitespace().next().ok_or("schedstat is empty")?;
        nanoseconds += on_cpu.parse::<u64>()?;
    }
    Ok(Duration::from_nanos(nanoseconds))
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
