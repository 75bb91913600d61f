//! `docs/runbook.md` has a section for every alarm, and a row for every reason that a function can log.
#![allow(clippy::unwrap_used)] // A failed unwrap fails the test.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn runbook() -> String {
    fs::read_to_string(root().join("docs/runbook.md")).unwrap()
}

/// Every text in every method `code` of the sources, so that no reason can be forgotten. Some take the code of another error as an argument.
fn codes_in_the_sources() -> BTreeSet<String> {
    let mut codes = BTreeSet::new();
    for file in sources(&root().join("crates")) {
        let source = fs::read_to_string(file).unwrap();
        for function in source.split("fn code(&self").skip(1) {
            let Some((signature, function)) = function.split_once(" {\n") else { continue };
            if !signature.ends_with("-> &'static str") {
                continue;
            }
            let body = function.split("\n    }\n").next().unwrap();
            codes.extend(body.split('"').skip(1).step_by(2).map(str::to_owned));
        }
    }
    codes
}

/// The Rust files below the `src` folders.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let mut found: Vec<_> = folders.iter().flat_map(|folder| sources(folder)).collect();
    let is_source = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extension == "rs") && path.iter().any(|part| part == "src")
    };
    found.extend(files.into_iter().filter(is_source));
    found
}

#[test]
fn the_runbook_has_every_reason_and_no_other() {
    let codes = codes_in_the_sources();
    for (code, whose) in [
        ("malformed_body", "order_events::Malformed"),
        ("throttled", "order_store::Error"),
        ("payload_mismatch", "idempotency::Error"),
        ("wrong_event_type", "Failure"),
    ] {
        assert!(codes.contains(code), "the codes of {whose} are not found");
    }
    let runbook = runbook();
    let (_, table) = runbook.split_once("\n## Reason codes\n").unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    let described: Vec<_> = rows.map(|(code, _)| code.to_owned()).collect();
    assert_eq!(described.iter().cloned().collect::<BTreeSet<_>>(), codes, "left: docs/runbook.md, right: the sources");
    assert_eq!(described.len(), codes.len(), "one row for each reason");
}

/// The descriptions of the alarms, in both templates, link to these sections.
#[test]
fn the_runbook_has_a_section_for_every_alarm() {
    let runbook = runbook();
    let sections = runbook.lines().filter_map(|line| line.strip_prefix("## "));
    let sections: Vec<_> = sections.map(|section| section.to_lowercase().replace(' ', "-")).collect();
    for template in ["template.yaml", "payments.yaml"] {
        let template = fs::read_to_string(root().join(template)).unwrap();
        let links = template.split("${RunbookUrl}#").skip(1);
        let links: BTreeSet<_> = links
            .map(|rest| rest.split(|c: char| !c.is_ascii_lowercase() && c != '-').next().unwrap())
            .map(str::to_owned)
            .collect();
        assert!(links.len() > 5, "the links of a template are not found");
        for link in links {
            assert_eq!(sections.iter().filter(|section| **section == link).count(), 1, "{link}");
        }
    }
}
