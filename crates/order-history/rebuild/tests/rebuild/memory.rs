//! Memory does not grow with the archive.

use std::ops::Range;

use order_events::EventId;
use sample_events::{message_of_order, story_messages};

use crate::commands::{command, ended};
use crate::world::{Folder, engine, key, new_table, orders};

#[tokio::test]
async fn a_three_times_larger_archive_is_rebuilt_in_the_same_memory() {
    let (small, large) = (peak_of(1..11).await, peak_of(1..31).await);
    // The views of the other 20 days would need about 40 MB. Buffers differ by some megabytes from run to run.
    assert!(large < small + 15_000, "{small} KB for 10 days, {large} KB for 30 days");
}

/// The peak memory of a rebuild of these days, in KB.
async fn peak_of(days: Range<usize>) -> u64 {
    let (engine, client) = engine();
    let (folder, table) = (Folder::new(), new_table(&client).await);
    let count = days.len() * 50;
    for day in days {
        folder.put(&key(day, "a"), created(day * 50..day * 50 + 50));
    }
    let from = folder.path().to_str().unwrap();
    // Slow enough that its peak is seen before it ends, also on a busy machine: it writes for more than a second.
    let rate = (count * 20).to_string();
    let arguments = ["run", "--from", from, "--into", &table, "--memory", "3", "--rate", &rate];
    let mut child = command(&engine, &arguments).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id().unwrap());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        // The process may end during this read.
        let status = std::fs::read_to_string(&status).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        peak = peak.max(kilobytes.unwrap_or(0));
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let ended = ended(child).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(orders(&client, &table).await.len(), count);
    assert!(peak > 0);
    peak
}

/// The first events of many orders, each with ten kilobytes that a view keeps.
fn created(orders: Range<usize>) -> Vec<String> {
    let message = story_messages().remove(0);
    let name: String = (0..1_000).flat_map(|word| [format!("name{word:05}"), " ".to_owned()]).collect();
    let line = |order: usize| {
        let id: EventId = format!("0000019ca945{:04x}-{order:016x}", order % 65_536).parse().unwrap();
        let message = message_of_order(&message, id, &order.to_string(), Some("consumer"));
        message.to_string().replace("Ajanta", &format!("{order} {name}"))
    };
    orders.map(line).collect()
}
