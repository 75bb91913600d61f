//! Draws bars and lines as SVG.

use std::fmt::Write as _;

/// A bar.
#[derive(Debug, Clone)]
pub struct Bar {
    /// The name in the picture.
    pub label: String,
    /// The median.
    pub value: f64,
    /// The minimum and the maximum of the rounds.
    pub spread: (f64, f64),
}

/// A line.
#[derive(Debug, Clone)]
pub struct Line {
    /// The name in the picture.
    pub label: String,
    /// The points: x and y.
    pub points: Vec<(f64, f64)>,
}

/// A chart of lines. Its y axis begins at zero.
#[derive(Debug, Clone)]
pub struct Chart {
    /// The title of the chart.
    pub title: String,
    /// The label of the x axis.
    pub x: &'static str,
    /// Whether the x axis is logarithmic.
    pub by_factors: bool,
    /// The lines in the chart.
    pub lines: Vec<Line>,
}

const WIDTH: f64 = 720.0;
const COLOURS: [&str; 4] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"];
/// The left end of the bars; the labels are left of it.
const BARS_LEFT: f64 = 170.0;
/// The space for a bar's number, right of the bar.
const BARS_RIGHT: f64 = 120.0;
const BAR_HEIGHT: f64 = 34.0;

/// Horizontal bars with their numbers, and a thin line for the spread.
#[must_use]
pub fn bars(title: &str, unit: &str, bars: &[Bar]) -> String {
    let most = bars.iter().map(|bar| bar.spread.1.max(bar.value)).fold(0.0, f64::max);
    let scale = (WIDTH - BARS_LEFT - BARS_RIGHT) / most;
    let mut body = text(20.0, 26.0, "start", 15, title);
    let mut y = 44.0;
    for (bar, colour) in bars.iter().zip(COLOURS.iter().cycle()) {
        let (width, middle) = (bar.value * scale, y + BAR_HEIGHT / 2.0 - 4.0);
        let (least, most) = (BARS_LEFT + bar.spread.0 * scale, BARS_LEFT + bar.spread.1 * scale);
        body += &text(BARS_LEFT - 8.0, middle + 5.0, "end", 13, &bar.label);
        let _ = writeln!(
            body,
            r#"<rect x="{BARS_LEFT}" y="{y:.1}" width="{width:.1}" height="{:.1}" fill="{colour}"/>"#,
            BAR_HEIGHT - 8.0
        );
        let _ = writeln!(
            body,
            r##"<line x1="{least:.1}" y1="{middle:.1}" x2="{most:.1}" y2="{middle:.1}" stroke="#222" stroke-width="2"/>"##
        );
        body += &text(
            most.max(BARS_LEFT + width) + 8.0,
            middle + 5.0,
            "start",
            13,
            &format!("{} {unit}", number(bar.value)),
        );
        y += BAR_HEIGHT;
    }
    picture(y + 10.0, &body)
}

const HEIGHT: f64 = 300.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 70.0;
const BOTTOM: f64 = 250.0;

/// Lines over a grid, with a legend.
#[must_use]
pub fn lines(chart: &Chart) -> String {
    let points = || chart.lines.iter().flat_map(|line| &line.points);
    let place = |x: f64| if chart.by_factors { x.log10() } else { x };
    let (first, last) = points()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(first, last), (x, _)| (first.min(place(*x)), last.max(place(*x))));
    let top = round_up(points().map(|(_, y)| *y).fold(0.0, f64::max));
    let at_x = |x: f64| LEFT + (place(x) - first) / (last - first) * (WIDTH - LEFT - RIGHT);
    let at_y = |y: f64| BOTTOM - y / top * (BOTTOM - TOP);

    let mut body = text(20.0, 26.0, "start", 15, &chart.title);
    for step in 0..=4 {
        let value = top * f64::from(step) / 4.0;
        let y = at_y(value);
        let _ =
            writeln!(body, r##"<line x1="{LEFT}" y1="{y:.1}" x2="{:.1}" y2="{y:.1}" stroke="#ddd"/>"##, WIDTH - RIGHT);
        body += &text(LEFT - 8.0, y + 4.0, "end", 12, &number(value));
    }
    if let Some(line) = chart.lines.first() {
        // Labels that would touch are left out.
        let mut free = f64::NEG_INFINITY;
        for (x, _) in &line.points {
            if at_x(*x) >= free {
                body += &text(at_x(*x), BOTTOM + 18.0, "middle", 12, &number(*x));
                free = at_x(*x) + 44.0;
            }
        }
    }
    body += &text(f64::midpoint(LEFT, WIDTH), BOTTOM + 40.0, "middle", 12, chart.x);
    for (line, colour) in chart.lines.iter().zip(COLOURS.iter().cycle()) {
        body += &drawn(line, colour, at_x, at_y);
    }
    body += &legend(&chart.lines);
    picture(HEIGHT, &body)
}

/// The legend below the title, in columns as wide as the longest label, with a second row if needed.
fn legend(lines: &[Line]) -> String {
    let longest = lines.iter().map(|line| line.label.chars().count()).max().unwrap_or_default();
    let column = 32.0 + 7.0 * f64::from(u16::try_from(longest).unwrap_or(u16::MAX));
    let (mut x, mut y) = (LEFT, 34.0);
    let mut legend = String::new();
    for (line, colour) in lines.iter().zip(COLOURS.iter().cycle()) {
        if x + column > WIDTH {
            (x, y) = (LEFT, y + 16.0);
        }
        let _ = writeln!(legend, r#"<rect x="{x:.1}" y="{y:.1}" width="12" height="12" fill="{colour}"/>"#);
        legend += &text(x + 18.0, y + 11.0, "start", 12, &line.label);
        x += column;
    }
    legend
}

fn drawn(line: &Line, colour: &str, at_x: impl Fn(f64) -> f64, at_y: impl Fn(f64) -> f64) -> String {
    let points: Vec<_> = line.points.iter().map(|(x, y)| format!("{:.1},{:.1}", at_x(*x), at_y(*y))).collect();
    format!("<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n", points.join(" "))
}

/// The next number that is 1, 2, 4 or 8 times a power of ten, so that four steps divide it well.
fn round_up(value: f64) -> f64 {
    let power = 10_f64.powf(value.max(1e-9).log10().floor());
    [1.0, 2.0, 4.0, 8.0, 10.0].into_iter().map(|step| step * power).find(|step| *step >= value).unwrap_or(value)
}

/// Three significant digits, with separators for thousands.
#[must_use]
pub fn number(value: f64) -> String {
    if value.is_nan() {
        return "–".to_owned();
    }
    let decimals = match value.abs() {
        large if large >= 99.95 => 0,
        _ if value.fract() == 0.0 => 0,
        middle if middle >= 9.995 => 1,
        small if small >= 0.01 => 2,
        _ => 4,
    };
    let plain = format!("{value:.decimals$}");
    let (whole, fraction) = plain.split_at(plain.find('.').unwrap_or(plain.len()));
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place) % 3 == 0 && whole.len() > 3 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + fraction
}

fn text(x: f64, y: f64, anchor: &str, size: u8, content: &str) -> String {
    let content = content.replace('&', "&amp;").replace('<', "&lt;");
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\">{content}</text>\n")
}

/// With a white background, so that it is readable in dark mode.
fn picture(height: f64, body: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" font-family=\"sans-serif\" \
         fill=\"#222\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{body}</svg>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_figures() {
        let shown = [0.0, 0.0042, 0.125, 2.1, 36.54, 283.7, 3712.0, 100_000.0].map(number);
        assert_eq!(shown, ["0", "0.0042", "0.12", "2.10", "36.5", "284", "3,712", "100,000"]);
    }

    #[test]
    fn an_axis_ends_at_a_round_number() {
        let ends = [0.9, 1.0, 1.1, 31.0, 45.0, 90.0].map(|value| number(round_up(value)));
        assert_eq!(ends, ["1", "1", "2", "40", "80", "100"]);
    }

    #[test]
    fn the_longest_bar_leaves_room_for_its_number() {
        let bar = |value: f64| Bar { label: "a < b".to_owned(), value, spread: (value, value) };
        let svg = bars("title", "µs", &[bar(1.0), bar(10.0)]);
        assert!(svg.contains(r#"width="430.0""#) && svg.contains(r#"width="43.0""#), "{svg}");
        assert!(svg.contains("a &lt; b"), "{svg}");
    }

    #[test]
    fn a_line_goes_from_edge_to_edge() {
        let points = vec![(10.0, 0.0), (100.0, 2.0), (1_000.0, 4.0)];
        let line = Line { label: "l".to_owned(), points };
        let svg = lines(&Chart { title: "t".to_owned(), x: "x", by_factors: true, lines: vec![line] });
        assert!(svg.contains(r#"points="70.0,250.0 385.0,160.0 700.0,70.0""#), "{svg}");
    }
}
