//! Parameters and their mistakes.

use serde_json::Value;

use crate::world::{NOW, RequestBuilder, World, assert_problem, created, forged_token};

fn mistakes(problem: &Value) -> Vec<(&str, &str)> {
    let errors = problem["errors"].as_array().unwrap();
    errors.iter().map(|error| (error["in"].as_str().unwrap(), error["parameter"].as_str().unwrap())).collect()
}

#[tokio::test]
async fn one_response_lists_every_mistake() {
    let api = World::create().await.open();
    let request = RequestBuilder::get(
        "/orders?since=yesterday&status=approved&keywords=!!&pageSize=101&startKey=x&pagesize=1&consumerId=%20",
    )
    .header("consistency-token", "x");
    let problem = assert_problem(&api.send(request).await, 400, "invalid-parameters");
    let mut found = mistakes(&problem);
    found.sort_unstable();
    assert_eq!(
        found,
        [
            ("header", "Consistency-Token"),
            ("query", "consumerId"),
            ("query", "keywords"),
            ("query", "pageSize"),
            ("query", "pagesize"),
            ("query", "since"),
            ("query", "startKey"),
            ("query", "status"),
        ]
    );
    for error in problem["errors"].as_array().unwrap() {
        assert!(error["detail"].as_str().unwrap().len() > 10, "{error}");
    }
}

#[tokio::test]
async fn every_invalid_value_is_refused() {
    let api = World::create().await.open();
    let (long_token, long_id) = ("A".repeat(1_401), "x".repeat(256));
    let bad = [
        ("pageSize", vec!["", "0", "-1", "101", "1.5", "abc", "99999999999999999999"]),
        (
            "since",
            vec![
                "",
                "yesterday",
                "2026-03-01",
                "2026-03-01T12:00:00",
                "-1",
                "99999999999999999",
                "2026-03-01T12:00:00+01:00",
            ],
        ),
        ("status", vec!["", "approved", "APPROVED ", "DONE"]),
        ("keywords", vec!["", "!", "%20", "a+b+c+d+e+f+g+h+i+j+k"]),
        ("startKey", vec!["", "x", "AQ", "%00", &long_token]),
        ("consumerId", vec!["", "%20", "%ff", &long_id]),
        ("deep", vec!["1"]),
    ];
    for (name, values) in bad {
        for value in values {
            let own = if name == "consumerId" { "" } else { "consumerId=7&" };
            let response = api.get(&format!("/orders?{own}{name}={value}")).await;
            let problem = assert_problem(&response, 400, "invalid-parameters");
            assert!(mistakes(&problem).contains(&("query", name)), "{name}={value}: {problem}");
        }
    }
}

#[tokio::test]
async fn the_response_to_an_unknown_parameter_lists_the_expected_ones() {
    let api = World::create().await.open();
    for (path, detail) in [
        ("/orders/1?deep=1", "unknown parameter; none is expected"),
        ("/health?depp=1", "unknown parameter; expected one of deep"),
    ] {
        let problem = assert_problem(&api.get(path).await, 400, "invalid-parameters");
        assert_eq!(problem["errors"][0]["detail"], detail, "{path}");
    }
}

#[tokio::test]
async fn a_list_needs_a_consumer() {
    let api = World::create().await.open();
    let problem = assert_problem(&api.get("/orders").await, 400, "invalid-parameters");
    assert_eq!(mistakes(&problem), [("query", "consumerId")]);
}

#[tokio::test]
async fn valid_values_are_accepted() {
    let api = World::create().await.open();
    let good = [
        "consumerId=7",
        "consumerId=7&since=2026-03-01T12:00:00Z&status=APPROVED&keywords=a&keywords=b&pageSize=100",
        "consumerId=7&since=1772366400000",
        "consumerId=7&since=0031-10-31T05:05:28Z",
        "consumerId=7&since=2026-03-01T12:00:00%2B01:00",
        "consumerId=%C3%BC&&",
    ];
    for query in good {
        api.json(&format!("/orders?{query}")).await;
    }
}

#[tokio::test]
async fn a_valid_start_key_is_not_reported_beside_another_mistake() {
    let world = World::create().await;
    world.project(&[created("7", 1, 1_000, "A"), created("7", 2, 2_000, "A")]).await;
    let api = world.open();
    let page = api.json("/orders?consumerId=7&pageSize=1").await;
    let start_key = page["startKey"].as_str().unwrap();
    let response = api.get(&format!("/orders?consumerId=7&status=done&startKey={start_key}")).await;
    assert_eq!(mistakes(&assert_problem(&response, 400, "invalid-parameters")), [("query", "status")]);
}

#[tokio::test]
async fn a_forged_start_key_older_than_since_is_400() {
    let world = World::create().await;
    world.project(&[created("7", 1, 1_000, "A"), created("7", 2, 2_000, "A")]).await;
    let api = world.open();
    for (since, position_time, status) in
        [(NOW - 5_000, NOW - 5_000, 400), (NOW - 5_000, 1, 400), (NOW - 5_000, NOW, 200)]
    {
        let since = i64::try_from(since).unwrap();
        // The token's `since` is older than both, so only the parameter `since` makes it invalid.
        let token = forged_token("7", since, "", &[], 0, i64::try_from(position_time).unwrap(), "1");
        let response = api.get(&format!("/orders?consumerId=7&since={since}&startKey={token}")).await;
        assert_eq!(response.status_code, status, "position at {position_time}: {response:?}");
        if status == 400 {
            let problem = assert_problem(&response, 400, "invalid-parameters");
            assert_eq!(mistakes(&problem), [("query", "startKey")]);
        }
    }
}
