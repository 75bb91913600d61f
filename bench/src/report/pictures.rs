//! The pictures.

use crate::growth::Point;
use crate::limits::in_megabytes;
use crate::rebuild::RebuildOfSize;
use crate::results::Results;
use crate::statistics::{Rounds, Spread};
use crate::svg::{Bar, Chart, Line, bars, lines};

pub(super) fn pictures(results: &Results) -> Vec<(&'static str, String)> {
    let bar = |label: &str, rounds: &Rounds| {
        let Spread { median, min, max } = rounds.spread();
        Bar { label: label.to_owned(), value: median, spread: (min, max) }
    };
    let cpu: Vec<Bar> = results.projections.iter().map(|who| bar(&who.name, &who.tens.stub.cpu_micros)).collect();
    let cold: Vec<Bar> = results.cold_starts.iter().map(|who| bar(&who.name, &who.to_answer.wall)).collect();
    let growth = &results.growth;
    let units = |point: &Point| point.each.written.orders + point.each.written.records;
    let thousands = |point: &Point| point.cpu_micros.median() / 1e3;
    let ages = Chart {
        title: "As an item ages: write units per event, and kilobytes of the item".to_owned(),
        x: "events so far",
        by_factors: false,
        lines: vec![
            line("write units, revised", &growth.revised, units),
            line("write units, courier moving", &growth.moving, units),
            line("kilobytes, revised", &growth.revised, kilobytes),
            line("kilobytes, courier moving", &growth.moving, kilobytes),
        ],
    };
    let ages_cpu = Chart {
        title: "As an item ages: microseconds of CPU per event".to_owned(),
        x: "events so far",
        by_factors: false,
        lines: vec![
            line("revised", &growth.revised, |point| point.cpu_micros.median()),
            line("courier moving", &growth.moving, |point| point.cpu_micros.median()),
        ],
    };
    let history = Chart {
        title: "As a consumer's history grows: the cost of a page of 20".to_owned(),
        x: "orders of the consumer",
        by_factors: true,
        lines: vec![
            line("requests", &growth.history, |point| point.each.all_requests()),
            line("read units", &growth.history, |point| point.each.read.sum()),
            line("ms of CPU", &growth.history, thousands),
        ],
    };
    let batch = Chart {
        title: "As a batch grows: the cost of an event".to_owned(),
        x: "messages in a batch",
        by_factors: true,
        lines: vec![
            line("requests", &growth.batch, |point| point.each.all_requests()),
            line("write units", &growth.batch, units),
            line("ms of CPU", &growth.batch, thousands),
        ],
    };
    let grown = results.rebuild.as_ref().map(|rebuild| &rebuild.growth[..]).unwrap_or_default();
    let grown_line = |label: &str, value: fn(&RebuildOfSize) -> f64| Line {
        label: label.to_owned(),
        points: grown.iter().map(|grown| (f64::from(grown.events), value(grown))).collect(),
    };
    let archive = Chart {
        title: "As the archive grows: a rebuild into files".to_owned(),
        x: "events in the archive",
        by_factors: true,
        lines: vec![
            grown_line("10 ns of CPU per event", |grown| grown.cpu_micros * 1e2),
            grown_line("MB of peak memory", |grown| in_megabytes(grown.peak_memory, 1024.0 * 1024.0)),
        ],
    };
    let mut pictures = vec![
        ("cpu-per-event.svg", bars("CPU per event, idempotency record included", "µs", &cpu)),
        (
            "cold-start.svg",
            bars("Cold start: from the start of the process to its first response, over TLS", "ms", &cold),
        ),
        ("item-ages.svg", lines(&ages)),
        ("item-ages-cpu.svg", lines(&ages_cpu)),
        ("history-grows.svg", lines(&history)),
        ("batch-grows.svg", lines(&batch)),
    ];
    if !grown.is_empty() {
        pictures.push(("archive-grows.svg", lines(&archive)));
    }
    pictures
}

fn line(label: &str, points: &[Point], y: impl Fn(&Point) -> f64) -> Line {
    Line { label: label.to_owned(), points: points.iter().map(|point| (f64::from(point.size), y(point))).collect() }
}

fn kilobytes(point: &Point) -> f64 {
    point.item_bytes.and_then(|bytes| u32::try_from(bytes).ok()).map_or(0.0, f64::from) / 1024.0
}
