//! Writes an archive of any size: the ten events of typical orders with three line items, in the archiver's format.

use std::fs;
use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use order_events::{EventId, EventType, Timestamp};
use sample_events::{message_of_order, story_messages};
use serde_json::Value;

use crate::{Result, peers};

/// The events of an order, in sequence.
pub const TEN_EVENTS: [EventType; 10] = [
    EventType::OrderCreated,
    EventType::PaymentIntentChargeRequested,
    EventType::PaymentIntentCharged,
    EventType::TicketCreated,
    EventType::OrderAuthorized,
    EventType::TicketAccepted,
    EventType::DeliveryScheduled,
    EventType::DeliveryPickedUp,
    EventType::DeliveryLocationUpdated,
    EventType::DeliveryDelivered,
];

/// The orders in one file, which covers an hour.
const ORDERS_EACH: usize = 2_000;
/// The orders whose events are interleaved.
const AT_ONCE: usize = 100;
/// 2026-03-01T00:00:00Z.
const BEGIN: i64 = 1_772_323_200_000;
const HOUR: i64 = 60 * 60 * 1_000;

/// An archive on disk. It is removed when this value is dropped.
#[derive(Debug)]
pub struct BenchArchive {
    /// Its location.
    pub root: PathBuf,
    /// Its files.
    pub files: Vec<PathBuf>,
    /// The number of its events.
    pub events: usize,
}

impl BenchArchive {
    /// Writes an archive of these orders.
    pub fn write(name: &str, orders: Range<usize>) -> Result<Self> {
        let root = peers::home("archives").join(name);
        if root.exists() {
            fs::remove_dir_all(&root)?;
        }
        let templates = templates()?;
        let mut files = Vec::new();
        for (hour, first) in orders.clone().step_by(ORDERS_EACH).enumerate() {
            let at = BEGIN + i64::try_from(hour)? * HOUR;
            let begun = Timestamp::from_millis(at).ok_or("too many orders")?;
            let (day, hour) = (begun.to_string()[..10].to_owned(), begun.to_string()[11..13].to_owned());
            let folder = root.join(format!("events/dt={day}/hh={hour}"));
            fs::create_dir_all(&folder)?;
            let file = folder.join(format!("{day}T{hour}0000Z-{first:08}.ndjson.gz"));
            let last = orders.end.min(first + ORDERS_EACH);
            let text = lines(&templates, at, first..last)?;
            let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
            gzip.write_all(text.as_bytes())?;
            fs::write(&file, gzip.finish()?)?;
            files.push(file);
        }
        Ok(Self { root, files, events: orders.len() * TEN_EVENTS.len() })
    }

    /// The number of its orders.
    #[must_use]
    pub fn orders(&self) -> usize {
        self.events / TEN_EVENTS.len()
    }

    /// The lines of its first file.
    pub fn first_lines(&self) -> Result<Vec<String>> {
        let file = self.files.first().ok_or("the archive is empty")?;
        let mut lines = Vec::new();
        archive::read(&fs::read(file)?, |record| lines.push(String::from_utf8_lossy(record.text).into_owned()))?;
        Ok(lines)
    }
}

impl Drop for BenchArchive {
    fn drop(&mut self) {
        // A leftover folder does no harm.
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// A message with placeholders for the values that differ between orders.
struct Template(Vec<String>);

/// The placeholders. No sample contains such a text.
const NAMES: [&str; 6] = ["@order@", "@own@", "@consumer@", "@id@", "@date@", "@street@"];

impl Template {
    fn of(event_type: EventType, sample: &Value) -> Result<Self> {
        let id: EventId = "0000019ca9450a07-0242ac1200080001".parse()?;
        let mut message = message_of_order(sample, id, NAMES[0], Some(NAMES[2]));
        if !matches!(event_type.aggregate().name(), "Order" | "Ticket") {
            message["headers"]["event-aggregate-id"] = NAMES[1].into();
            message["headers"]["PARTITION_ID"] = NAMES[1].into();
        }
        message["headers"]["ID"] = NAMES[3].into();
        message["headers"]["DATE"] = NAMES[4].into();
        let text = message.to_string().replace("9 Amazing View", NAMES[5]);
        Ok(Self(text.split_inclusive('@').map(|part| part.trim_end_matches('@').to_owned()).collect()))
    }

    fn fill(&self, values: [&str; NAMES.len()], out: &mut String) {
        for part in &self.0 {
            let name = NAMES.iter().position(|name| name.trim_matches('@') == part);
            out.push_str(name.map_or(part, |name| values[name]));
        }
        out.push('\n');
    }
}

fn templates() -> Result<Vec<Template>> {
    let samples = story_messages();
    let of = |event_type: EventType| {
        let is_of = |sample: &&Value| {
            sample["headers"]["event-type"].as_str().and_then(|name| name.parse().ok()) == Some(event_type)
        };
        let sample = samples.iter().find(is_of).ok_or_else(|| format!("no {event_type} in the story"))?;
        Template::of(event_type, sample)
    };
    TEN_EVENTS.into_iter().map(of).collect()
}

/// The lines of some orders: the first event of each, then the second of each, and so on.
fn lines(templates: &[Template], begun: i64, orders: Range<usize>) -> Result<String> {
    let date = Timestamp::from_millis(begun).and_then(Timestamp::to_http_date).ok_or("no such date")?;
    let orders: Vec<_> = orders.collect();
    let mut text = String::with_capacity(orders.len() * TEN_EVENTS.len() * 512);
    let mut now = u64::try_from(begun)?;
    for orders in orders.chunks(AT_ONCE) {
        for template in templates {
            for order in orders {
                now += 1;
                let number = u64::try_from(*order)?;
                // Real ids and addresses compress worse than a counter.
                let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let (order_id, own) = ((1_000_000 + number).to_string(), format!("{mixed:016x}"));
                let (consumer, id) =
                    ((1_511_300_000_000 + mixed % 5_000).to_string(), format!("{now:016x}-{mixed:016x}"));
                let street = format!("{} {} Street", mixed % 997, ["Amazing", "Quiet", "Sunny", "Broad"][order % 4]);
                template.fill([&order_id, &own, &consumer, &id, &date, &street], &mut text);
            }
        }
    }
    Ok(text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A test that cannot go on should stop there.
mod tests {
    use std::collections::BTreeSet;

    use order_events::Message;

    use super::*;

    #[test]
    fn an_archive_has_ten_events_of_each_order() {
        let archived = BenchArchive::write("a-test", 0..2_003).unwrap();
        assert_eq!((archived.files.len(), archived.events), (2, 20_030));
        let lines = archived.first_lines().unwrap();
        assert_eq!(lines.len(), 20_000);
        let events: Vec<_> = lines.iter().map(|line| Message::parse(line).unwrap().event).collect();
        let orders: BTreeSet<_> = events.iter().map(order_events::Event::order_id_text).collect();
        let ids: BTreeSet<_> = events.iter().map(|event| event.id).collect();
        assert_eq!((orders.len(), ids.len()), (2_000, 20_000));
        let root = archived.root.clone();
        drop(archived);
        assert!(!root.exists());
    }
}
