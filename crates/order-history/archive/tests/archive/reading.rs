//! Reads files of the archiver, of Firehose, and damaged ones.

use std::io::Write;

use archive::{Damaged, MAX_PART, read};
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn zstd(content: &[u8]) -> Vec<u8> {
    compress_to_vec(content, CompressionLevel::Fastest)
}

/// The lines and texts of the records, and the result.
fn records(file: &[u8]) -> (Vec<(u64, String)>, Result<(), Damaged>) {
    let mut found = Vec::new();
    let outcome = read(file, |record| found.push((record.line, String::from_utf8_lossy(record.text).into_owned())));
    (found, outcome)
}

#[track_caller]
fn check(file: &[u8], expected: &[(u64, &str)]) {
    let expected: Vec<_> = expected.iter().map(|(line, text)| (*line, (*text).to_owned())).collect();
    assert_eq!(records(file), (expected, Ok(())));
}

/// The same content, plain and compressed.
#[track_caller]
fn check_content(content: &[u8], expected: &[(u64, &str)]) {
    check(content, expected);
    check(&gzip(content), expected);
    check(&zstd(content), expected);
}

#[test]
fn a_record_is_a_line() {
    check_content(b"{\"a\":1}\n{\"b\":2}\n", &[(1, r#"{"a":1}"#), (2, r#"{"b":2}"#)]);
}

#[test]
fn the_last_line_needs_no_line_break() {
    check_content(b"{\"a\":1}\n{\"b\":2}", &[(1, r#"{"a":1}"#), (2, r#"{"b":2}"#)]);
}

#[test]
fn lines_may_end_with_crlf() {
    check_content(b"{\"a\":1}\r\n{\"b\":2}\r\n", &[(1, r#"{"a":1}"#), (2, r#"{"b":2}"#)]);
}

#[test]
fn blank_lines_are_counted_but_are_not_records() {
    check_content(b"\n\r\n{\"a\":1}\n  \t\n\n{\"b\":2}\n\n", &[(3, r#"{"a":1}"#), (6, r#"{"b":2}"#)]);
}

#[test]
fn an_empty_file_has_no_records() {
    check(b"", &[]);
    check_content(b"", &[]);
    check_content(b"\n\n", &[]);
    check(&[gzip(b""), gzip(b"")].concat(), &[]);
}

#[test]
fn a_byte_order_mark_is_not_part_of_a_record() {
    check_content(b"\xef\xbb\xbf{\"a\":1}\n{\"b\":2}\n", &[(1, r#"{"a":1}"#), (2, r#"{"b":2}"#)]);
    check_content(b"\xef\xbb\xbf", &[]);
    let (first, second) = (b"\xef\xbb\xbf{\"a\":1}\n".as_slice(), b"\xef\xbb\xbf{\"b\":2}".as_slice());
    check(&[gzip(first), gzip(second)].concat(), &[(1, r#"{"a":1}"#), (2, r#"{"b":2}"#)]);
    check(&[gzip(second), gzip(second)].concat(), &[(1, r#"{"b":2}"#), (1, r#"{"b":2}"#)]);
}

/// U+FEFF is also a character that a customer may write.
#[test]
fn a_byte_order_mark_within_a_text_stays() {
    let (first, second) = (b"{\"a\":\"x".as_slice(), b"\xef\xbb\xbfy\"}\n".as_slice());
    check(&[gzip(first), gzip(second)].concat(), &[(1, "{\"a\":\"x\u{feff}y\"}")]);
    check_content(b"{\"a\":\"x\xef\xbb\xbfy\"}\n", &[(1, "{\"a\":\"x\u{feff}y\"}")]);
}

/// Firehose writes this if producers send no line breaks.
#[test]
fn objects_without_line_breaks_between_them_are_separate_records() {
    let expected = [(1, r#"{"a":{"x":1}}"#), (1, r#"{"b":"}{"}"#), (1, r#"{"c":3}"#), (2, r#"{"d":4}"#)];
    check_content(b"{\"a\":{\"x\":1}}{\"b\":\"}{\"}{\"c\":3}\n{\"d\":4}", &expected);
    check_content(b"{\"a\":{\"x\":1}}{\"b\":\"}{\"}  {\"c\":3}\r\n{\"d\":4}\n", &expected);
}

#[test]
fn a_text_with_braces_is_one_record() {
    check_content(b"{\"a\":\"}{\"}\n", &[(1, r#"{"a":"}{"}"#)]);
    check_content(br#"{"payload":"{\"lineItems\":[{}]}{"}"#, &[(1, r#"{"payload":"{\"lineItems\":[{}]}{"}"#)]);
}

/// The caller reports it and continues with the next record.
#[test]
fn invalid_json_is_a_record_and_does_not_affect_other_records() {
    check_content(b"{\"a\":1}\nnot json\n{\"b\":2}\n", &[(1, r#"{"a":1}"#), (2, "not json"), (3, r#"{"b":2}"#)]);
    let expected = [(1, r#"{"a":1}"#), (1, r#"{"b":nope}"#), (1, r#"{"c":3}"#), (1, r#"{"d":"#)];
    check_content(b"{\"a\":1}{\"b\":nope}{\"c\":3}{\"d\":", &expected);
    let (found, outcome) = records(b"{\"a\":1}{\"b\":\"\xff\"}{\"c\":3}\n");
    assert_eq!(outcome, Ok(()));
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!((&*found[0].1, &*found[2].1), (r#"{"a":1}"#, r#"{"c":3}"#));
}

#[test]
fn a_file_may_have_many_gzip_members() {
    let members: Vec<_> = (0..500).map(|number| gzip(format!("{{\"a\":{number}}}\n").as_bytes())).collect();
    let expected: Vec<_> = (0..500).map(|number| (number + 1, format!("{{\"a\":{number}}}"))).collect();
    assert_eq!(records(&members.concat()), (expected, Ok(())));
}

/// Firehose compresses its buffer, which may end within a line.
#[test]
fn a_line_may_start_in_one_member_and_end_in_a_later_one() {
    let content = b"{\"a\":1}\n{\"b\":\"some text\"}\r\n{\"c\":3}";
    let expected = [(1, r#"{"a":1}"#), (2, r#"{"b":"some text"}"#), (3, r#"{"c":3}"#)];
    for first in 0..=content.len() {
        for second in first..=content.len() {
            let parts = [&content[..first], &content[first..second], &content[second..]];
            check(&parts.map(gzip).concat(), &expected);
            check(&parts.map(zstd).concat(), &expected);
        }
    }
}

#[test]
fn zeros_after_compressed_data_are_ignored() {
    let expected = [(1, r#"{"a":1}"#), (2, r#"{"b":2}"#)];
    for compress in [gzip, zstd] {
        let (first, second, zeros) = (compress(b"{\"a\":1}\n"), compress(b"{\"b\":2}\n"), vec![0; 512]);
        check(&[first.clone(), second.clone(), zeros.clone()].concat(), &expected);
        check(&[first, zeros.clone(), second, zeros].concat(), &expected);
    }
}

#[test]
fn anything_else_after_compressed_data_is_damage() {
    for compress in [gzip, zstd] {
        let file = [compress(b"{\"a\":1}\n"), b"garbage".to_vec()].concat();
        let damaged = Damaged::Trailing { good: 8, bytes: 7 };
        assert_eq!(records(&file), (vec![(1, r#"{"a":1}"#.to_owned())], Err(damaged)));
    }
}

#[test]
fn frames_of_the_zstd_program_are_read() {
    // `zstd --check` of two lines, and `zstd --no-check` of a third.
    let checked = b"\x28\xb5\x2f\xfd\x24\x10\x81\x00\x00{\"a\":1}\n{\"b\":2}\n\x13\x47\x4c\x48";
    let unchecked = b"\x28\xb5\x2f\xfd\x20\x09\x49\x00\x00{\"c\":3}\r\n";
    let skipped = b"\x52\x2a\x4d\x18\x05\x00\x00\x00ABCDE";
    let file = [&checked[..], skipped, unchecked].concat();
    check(&file, &[(1, r#"{"a":1}"#), (2, r#"{"b":2}"#), (3, r#"{"c":3}"#)]);
    check(&[&skipped[..], checked].concat(), &[(1, r#"{"a":1}"#), (2, r#"{"b":2}"#)]);
}

/// A small file, cut off after every byte.
#[test]
fn only_complete_members_of_a_truncated_file_are_read() {
    for compress in [gzip, zstd] {
        let members =
            [compress(b"{\"a\":1}\n{\"b\":2}\n"), compress(b"{\"c\":3}{\"d\":4}"), compress(b"\n{\"e\":5}\n")];
        let file = members.concat();
        let (all, outcome) = records(&file);
        assert_eq!((all.len(), outcome), (5, Ok(())));
        let ends = [0, members[0].len(), members[0].len() + members[1].len(), file.len()];
        for length in 0..file.len() {
            let (found, outcome) = records(&file[..length]);
            assert_eq!(found, all[..found.len()], "cut off after {length} bytes");
            assert_eq!(outcome.is_ok(), ends.contains(&length), "cut off after {length} bytes: {outcome:?}");
            let whole = ends.iter().filter(|end| **end <= length).count() - 1;
            assert_eq!(found.len(), [0, 2, 4, 5][whole], "cut off after {length} bytes");
        }
    }
}

/// Each bit of a small file. Some changes are not detected, such as another time in a gzip header, but they change no record.
#[test]
fn a_flipped_bit_is_never_another_record() {
    for compress in [gzip, zstd] {
        let content = [
            b"{\"orderId\":\"1\",\"total\":\"10.00\"}\n{\"b\":2}\n".as_slice(),
            b"{\"c\":3}{\"d\":4}\n{\"e\":",
            b"5}\n",
        ];
        let file = content.map(compress).concat();
        let (all, outcome) = records(&file);
        assert_eq!((all.len(), outcome), (5, Ok(())));
        let mut noticed = 0;
        for bit in 0..file.len() * 8 {
            let mut flipped = file.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let (found, outcome) = records(&flipped);
            if outcome.is_ok() {
                assert_eq!(found, all, "bit {bit} was not noticed");
            } else {
                noticed += 1;
                assert_eq!(found, all[..found.len()], "bit {bit}");
            }
        }
        assert!(noticed * 10 > file.len() * 8 * 6, "only {noticed} of {} bits were noticed", file.len() * 8);
    }
}

#[test]
fn records_before_the_damage_are_read() {
    let mut file = [gzip(b"{\"a\":1}\n{\"b\":2}{\"c\":3}{\"d"), gzip(b"\":4}\n")].concat();
    let last = file.len() - 1;
    file[last] ^= 1;
    let whole = [(1, r#"{"a":1}"#.to_owned()), (2, r#"{"b":2}"#.to_owned()), (2, r#"{"c":3}"#.to_owned())];
    assert_eq!(records(&file), (whole.to_vec(), Err(Damaged::Gzip { good: 25 })), "the incomplete record is not used");
}

#[test]
fn a_file_that_is_neither_text_nor_compressed_is_damaged() {
    for file in
        [b"\x1f".as_slice(), b"\x1e\x8b\x08\x00", b"\x00\x00\x00\x00", b"\xff\xfe{\x00", b"PK\x03\x04", b"PAR1\x15"]
    {
        let (found, outcome) = records(file);
        if file.starts_with(b"PAR1") {
            assert_eq!(outcome, Ok(()), "it cannot be distinguished from text; its lines are not JSON");
            continue;
        }
        assert_eq!((found, outcome), (vec![], Err(Damaged::Binary)), "{file:?}");
    }
    check("über\n".as_bytes(), &[(1, "über")]);
    check("x€x".as_bytes(), &[(1, "x€x")]);
    check("xxx😀".as_bytes(), &[(1, "xxx😀")]);
}

/// 400 KB that would become 400 MB.
#[test]
fn a_member_that_does_not_fit_into_memory_is_reported_as_damaged() {
    let line = [b"{\"a\":1}\n".as_slice(), &vec![b' '; 1 << 20], b"\n"].concat();
    let lines = MAX_PART / line.len() + 1;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..lines {
        encoder.write_all(&line).unwrap();
    }
    let file = [gzip(b"{\"first\":0}\n"), encoder.finish().unwrap()].concat();
    assert_eq!(records(&file), (vec![(1, r#"{"first":0}"#.to_owned())], Err(Damaged::TooLarge { good: 12 })));
}

/// The last four bytes of a file are only a hint at its size.
#[test]
fn a_large_member_before_a_small_one_is_read() {
    let large: Vec<_> = (0..50_000).map(|number| format!("{{\"number\":{number},\"text\":\"some text\"}}\n")).collect();
    let file = [gzip(large.concat().as_bytes()), gzip(b"{\"a\":1}\n")].concat();
    let (found, outcome) = records(&file);
    assert_eq!((found.len(), outcome), (50_001, Ok(())));
    assert_eq!(found[49_999], (50_000, r#"{"number":49999,"text":"some text"}"#.to_owned()));
}

proptest! {
    /// Any combination of joined records, members and compressions.
    #[test]
    fn written_records_are_read(
        records in prop::collection::vec(("[a-z}{\\\\\"\u{feff}ü]{0,12}", prop::sample::select(vec!["\n", "\r\n", "\n\n", ""])), 0..40),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
        compression in 0..3,
    ) {
        let texts: Vec<_> = records.iter().map(|(text, _)| serde_json::json!({ "text": text }).to_string()).collect();
        let lines = texts.iter().zip(&records).map(|(text, (_, end))| format!("{text}{end}"));
        let content = lines.collect::<Vec<_>>().concat().into_bytes();
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(content.len() + 1)).collect();
        cuts.extend([0, content.len()]);
        cuts.sort_unstable();
        let parts = cuts.windows(2).map(|cut| &content[cut[0]..cut[1]]);
        let file = match compression {
            0 => content.clone(),
            1 => parts.map(gzip).collect::<Vec<_>>().concat(),
            _ => parts.map(zstd).collect::<Vec<_>>().concat(),
        };
        let (found, outcome) = self::records(&file);
        prop_assert_eq!(outcome, Ok(()));
        prop_assert_eq!(found.into_iter().map(|(_, text)| text).collect::<Vec<_>>(), texts);
    }

    /// Any file is read to its end, or is damaged.
    #[test]
    fn no_bytes_cause_a_panic(start in 0..4, bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let magic: &[u8] = match start {
            0 => b"",
            1 => b"\x1f\x8b\x08",
            2 => b"\x28\xb5\x2f\xfd",
            _ => b"\x50\x2a\x4d\x18",
        };
        let _ = records(&[magic, &bytes].concat());
    }
}
