//! Memory does not grow with the archive.

use std::ops::Range;

use embedded_dynamodb::Engine;
use order_events::EventId;
use sample_events::{message_of_order, story_messages};
use tokio::time::{Duration, sleep};

use crate::buckets::orders_in;
use crate::commands::{command, ended};
use crate::world::{Folder, engine, key, lines_of_order, new_table, orders};

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
        sleep(Duration::from_millis(5)).await;
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

#[tokio::test]
async fn files_and_snapshots_of_a_ten_times_larger_archive_need_the_same_memory() {
    let (engine, _client) = engine();
    let (small, large) = (Folder::new(), Folder::new());
    // Ten times as many files of the same size, because one file at a time is in memory. The events of an order are in
    // four files.
    for (folder, orders, files) in [(&small, 2_000, 4), (&large, 20_000, 40)] {
        let lines: Vec<_> = lines_of_many_orders(100_000..100_000 + orders).collect();
        for number in 0..files {
            let name = key(1 + number % 4, &number.to_string());
            folder.put(&name, lines.iter().skip(number).step_by(files));
        }
    }
    for command in [
        &["run", "--sink", "files", "--memory", "6", "--snapshot", "none", "--from"][..],
        &["snapshot", "--memory", "6", "--from"],
    ] {
        let peak_of =
            async |folder: &Folder| peak(&engine, &[command, &[folder.path().to_str().unwrap()]].concat()).await;
        let (one, ten) = (peak_of(&small).await, peak_of(&large).await);
        // The small archive does not fill the buffers of all threads. For larger archives, the memory is the same: 45
        // MB for 20,000 orders and 46 MB for 80,000. The views of 80,000 orders alone would need 60 MB more.
        assert!(ten < one + 20_000, "{command:?}: {one} KB for 2,000 orders, {ten} KB for 20,000");
    }
    let written = orders_of_the_only_run(&large).await;
    assert_eq!(written, 20_000);
}

async fn orders_of_the_only_run(folder: &Folder) -> usize {
    let archive = folder.archive();
    let keys = archive.list("runs/").await.unwrap();
    let data = keys.iter().find_map(|object| object.key.split_once("/import/data/")).unwrap().0.to_owned();
    tokio::task::spawn_blocking(move || orders_in(&archive, &format!("{data}/import/data/")).len()).await.unwrap()
}

/// Four events for each of these orders.
fn lines_of_many_orders(orders: Range<u32>) -> impl Iterator<Item = String> {
    const ORDER: u32 = 900_000;
    let model = lines_of_order(ORDER as usize);
    let (hex, decimal) = (format!("-{ORDER:08x}"), ORDER.to_string());
    orders.flat_map(move |order| {
        let (hex_now, decimal_now) = (format!("-{order:08x}"), order.to_string());
        let event = |line: &String| line.replace(&hex, &hex_now).replace(&decimal, &decimal_now);
        model[..4].iter().map(event).collect::<Vec<_>>()
    })
}

/// The peak memory of a command, in KB.
async fn peak(engine: &Engine, arguments: &[&str]) -> u64 {
    let mut child = command(engine, arguments)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id().unwrap());
    let mut peak = 0;
    loop {
        if let Ok(status) = std::fs::read_to_string(&status)
            && let Some(line) = status.lines().find(|line| line.starts_with("VmHWM:"))
        {
            peak = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        }
        // There is no event to wait for: the kernel does not report growing memory.
        tokio::select! {
            ended = child.wait() => {
                assert!(ended.unwrap().success());
                return peak;
            }
            () = sleep(Duration::from_millis(10)) => {}
        }
    }
}
