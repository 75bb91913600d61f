//! Reads CPU time, waiting time and memory of a process from Linux.

use std::fs::{read_dir, read_to_string};
use std::time::Duration;

use crate::Result;

/// The CPU time that the threads of a process have used, to the nanosecond: user and system together.
///
/// Ended threads are not counted, so use it only for the difference between two close moments.
pub fn cpu(process_id: u32) -> Result<Duration> {
    let mut on_cpu = Duration::ZERO;
    for thread in read_dir(format!("/proc/{process_id}/task"))? {
        // A thread may end after it was listed.
        let Ok(schedule) = read_to_string(thread?.path().join("schedstat")) else { continue };
        on_cpu += Schedule::parse(&schedule)?.on_cpu;
    }
    Ok(on_cpu)
}

/// The time in which the first thread of a process was busy: on a core, or waiting for one. The rest of the time it
/// waits for a response.
///
/// All handlers here run on their first thread. Node compiles and collects garbage on others, so the CPU time of the
/// whole process can be more than the time that has passed.
pub fn busy(process_id: u32) -> Result<Duration> {
    let Schedule { on_cpu, queued } = Schedule::parse(&read_to_string(format!("/proc/{process_id}/schedstat"))?)?;
    Ok(on_cpu + queued)
}

/// The scheduler's statistics of a thread. <https://docs.kernel.org/scheduler/sched-stats.html>
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

/// The peak resident memory of a process, in bytes.
pub fn peak_memory(process_id: u32) -> Result<u64> {
    status(process_id, "VmHWM:")
}

/// The resident memory of a process, in bytes.
pub fn memory(process_id: u32) -> Result<u64> {
    status(process_id, "VmRSS:")
}

fn status(process_id: u32, name: &str) -> Result<u64> {
    let status = read_to_string(format!("/proc/{process_id}/status"))?;
    let kilobytes = status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|peak| peak.split_whitespace().next())
        .ok_or_else(|| format!("the process has no {name}"))?;
    Ok(kilobytes.parse::<u64>()? * 1024)
}

/// The CPU time of a process that has ended but was not waited for; `None` while it runs. To a hundredth of a
/// second, with all of its threads.
pub fn cpu_of_ended(process_id: u32) -> Result<Option<Duration>> {
    ended(&read_to_string(format!("/proc/{process_id}/stat"))?)
}

/// <https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html>: after the name in parentheses, the state is the first field, and user
/// and system time are the twelfth and the thirteenth, in hundredths of a second.
fn ended(stat: &str) -> Result<Option<Duration>> {
    let (_, fields) = stat.rsplit_once(')').ok_or("stat has no name")?;
    let fields: Vec<_> = fields.split_whitespace().collect();
    let (Some(state), Some(times)) = (fields.first(), fields.get(11..13)) else {
        return Err("stat is too short".into());
    };
    let hundredths = times.iter().map(|time| time.parse::<u64>()).sum::<std::result::Result<u64, _>>()?;
    Ok((*state == "Z").then(|| Duration::from_millis(10 * hundredths)))
}

/// A process, those that it started, and those that they started.
pub fn process_tree(process_id: u32) -> Result<Vec<u32>> {
    let mut parents = Vec::new();
    for entry in read_dir("/proc")? {
        let Ok(process_id) = entry?.file_name().to_string_lossy().parse::<u32>() else { continue };
        // It may end after it was listed.
        let Ok(stat) = read_to_string(format!("/proc/{process_id}/stat")) else { continue };
        let fields = stat.rsplit_once(')').map(|(_, fields)| fields).unwrap_or_default();
        let parent = fields.split_whitespace().nth(1).and_then(|parent| parent.parse::<u32>().ok());
        parents.extend(parent.map(|parent| (process_id, parent)));
    }
    let mut family = vec![process_id];
    let mut place = 0;
    while let Some(parent) = family.get(place).copied() {
        family.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(child, _)| *child));
        place += 1;
    }
    Ok(family)
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

    #[test]
    fn a_process_that_has_ended_has_the_time_of_all_its_threads() {
        let stat = |state| format!("7 (a (b) c) {state} 1 7 7 0 -1 4227084 93 0 0 0 12 34 0 0 20 0 1 0 100 0 0");
        assert_eq!(ended(&stat("S")).unwrap(), None);
        assert_eq!(ended(&stat("Z")).unwrap(), Some(Duration::from_millis(460)));
        assert!(ended("7 (a) Z").is_err());
    }

    #[test]
    fn a_child_is_in_the_process_tree_of_its_parent() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let family = process_tree(std::process::id()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(family.contains(&std::process::id()) && family.contains(&child.id()), "{family:?}");
    }
}
