//! Random requests never cause a panic or a server error.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;

use crate::world::{NOW, RequestBuilder, World, created, forged_token};

/// `FUZZ_CASES` sets the number of cases.
fn runner() -> TestRunner {
    let cases = std::env::var("FUZZ_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(5_000);
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
}

/// Has its own runtime, because proptest is not async.
struct Fuzzed {
    runtime: tokio::runtime::Runtime,
    world: World,
}

impl Fuzzed {
    fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let world = runtime.block_on(World::create());
        let events: Vec<_> = (1..=5).map(|n| created("7", n, n * 1_000, "Ajanta")).collect();
        runtime.block_on(world.project(&events));
        Self { runtime, world }
    }

    fn status(&self, request: RequestBuilder) -> u16 {
        self.runtime.block_on(self.world.open().send(request)).status_code
    }
}

#[test]
fn random_page_tokens_cause_no_server_error() {
    let fuzzed = Fuzzed::start();
    let page = fuzzed.runtime.block_on(fuzzed.world.open().json("/orders?consumerId=7&pageSize=1"));
    let good = page["startKey"].as_str().unwrap().to_owned();
    let intact = good.clone();
    let damaged = (0..good.len(), "[A-Za-z0-9_-]{0,4}").prop_map(move |(at, noise)| {
        let mut token = intact.clone();
        token.replace_range(at..(at + noise.len()).min(token.len()), &noise);
        token
    });
    // With the right binding and a forged position.
    let bytes = URL_SAFE_NO_PAD.decode(&good).unwrap();
    let forged =
        (prop_oneof![any::<i64>(), 0..4_000_000_000_000_i64], "[!-~]{0,300}").prop_map(move |(millis, order_id)| {
            let mut token = bytes[..17].to_vec();
            token.extend(millis.to_be_bytes());
            token.extend(order_id.as_bytes());
            URL_SAFE_NO_PAD.encode(token)
        });
    let tokens = prop_oneof![damaged, forged, "[A-Za-z0-9_=-]{0,500}", "\\PC{0,60}"];
    runner()
        .run(&tokens, |token| {
            let token = percent_encode(token.as_bytes(), NON_ALPHANUMERIC);
            let status = fuzzed.status(RequestBuilder::get(&format!("/orders?consumerId=7&startKey={token}")));
            prop_assert!(status == 200 || status == 400, "{status}");
            Ok(())
        })
        .unwrap();
}

/// A forged token with the right binding, and every other parameter.
#[test]
fn forged_page_tokens_with_every_parameter_cause_no_server_error() {
    let fuzzed = Fuzzed::start();
    let now = i64::try_from(NOW).unwrap();
    let moment = || prop_oneof![0..=now, now - 10_000..now + 10_000, Just(now - 3_000), Just(0), 0..=MAX_MILLIS];
    let status = prop_oneof![Just(""), Just("APPROVAL_PENDING"), Just("APPROVED")];
    let keywords = proptest::collection::btree_set(prop_oneof!["ajanta", "soup", "[a-z]{1,9}"], 0..4);
    let page_size = proptest::option::of(1..=100_usize);
    let list = (proptest::option::of(moment()), status, keywords, page_size);
    let position = (moment(), -1..=1_i64, any::<bool>(), prop_oneof!["[1-5]", "[!-~]{1,255}"]);
    runner()
        .run(&(list, moment(), position), |((since, status, keywords, page_size), own, (time, by, near, order_id))| {
            // Without `since`, a request uses the `since` in its token.
            let effective = since.unwrap_or(own);
            let time = if near { effective.saturating_add(by).clamp(0, MAX_MILLIS) } else { time };
            let keywords: Vec<_> = keywords.into_iter().collect();
            let token = forged_token("7", effective, status, &keywords, own, time, &order_id);
            let mut path = format!("/orders?consumerId=7&startKey={token}");
            path.extend(since.map(|since| format!("&since={since}")));
            path.extend((!status.is_empty()).then(|| format!("&status={status}")));
            path.extend(keywords.iter().map(|keyword| format!("&keywords={keyword}")));
            path.extend(page_size.map(|size| format!("&pageSize={size}")));
            let expected = if time > effective { 200 } else { 400 };
            prop_assert_eq!(
                fuzzed.status(RequestBuilder::get(&path)),
                expected,
                "{}: position {}, since {}",
                path,
                time,
                effective
            );
            Ok(())
        })
        .unwrap();
}

/// The end of 9999.
const MAX_MILLIS: i64 = 253_402_300_799_999;

#[test]
fn random_query_strings_paths_and_headers_cause_no_server_error() {
    let fuzzed = Fuzzed::start();
    let name = prop_oneof![
        Just("consumerId".to_owned()),
        Just("since".to_owned()),
        Just("status".to_owned()),
        Just("keywords".to_owned()),
        Just("pageSize".to_owned()),
        Just("startKey".to_owned()),
        "\\PC{0,10}",
    ];
    let value = prop_oneof!["[0-9]{0,20}", "[A-Z_]{0,20}", "%[0-9a-fA-F]{0,3}", "\\PC{0,20}"];
    let query = proptest::collection::vec((name, value), 0..6).prop_map(|pairs| {
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
        pairs.join("&")
    });
    let query = prop_oneof![query, "\\PC{0,80}"];
    let path = prop_oneof![Just("/orders".to_owned()), "/orders/\\PC{0,20}", "\\PC{0,20}", Just("/health".to_owned())];
    let header = prop_oneof!["\\PC{0,40}", "[A-Za-z0-9_-]{0,600}", "wait=0*", "W/\"\\PC{0,10}\""];
    let headers = (header.clone(), header.clone(), header);
    runner()
        .run(&(path, query, headers), |(path, query, (token, prefer, tag))| {
            let mut request = RequestBuilder::get("")
                .header("consistency-token", token)
                .header("prefer", prefer.replace(char::is_numeric, "0"))
                .header("if-none-match", tag);
            request.event().insert("rawPath".to_owned(), json!(path));
            request.event().insert("rawQueryString".to_owned(), json!(query));
            let status = fuzzed.status(request);
            prop_assert!(status < 500, "{status} for {path}?{query}");
            Ok(())
        })
        .unwrap();
}
