//! Random requests never cause a server error.

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::world::{RequestBuilder, TestApi, World};

struct Target {
    runtime: Runtime,
    apis: Vec<TestApi>,
    ids: Vec<String>,
    _world: World,
}

/// Shared by all cases.
static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (world, apis, id) = runtime.block_on(async {
        let world = World::create().await;
        let apis = vec![world.saga(), world.locked(), world.guarded(world.locked_mode())];
        let id = apis[0].created("99", 100).await;
        (world, apis, id)
    });
    let ids = vec![id, "00000000-0000-4000-8000-000000000000".to_owned(), "no-id".to_owned(), "%2F..".to_owned()];
    Target { runtime, apis, ids, _world: world }
});

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["\\PC{0,40}", "[\"\\\\, ;=a-z0-9]{0,20}", "[a-z]{200,300}", Just(String::new()), any::<String>()]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (1..200_i64).prop_map(Value::from),
        text().prop_map(Value::from),
        Just(json!("USD")),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{0,8}", inner, 0..3).prop_map(|members| json!(members)),
        ]
    })
}

fn body() -> impl Strategy<Value = String> {
    let members = prop_oneof![Just("orderId"), Just("amount"), Just("currency"), Just("consumerId"), Just("other")];
    let object = prop::collection::vec((members, value()), 0..6).prop_map(|members| {
        let members: serde_json::Map<_, _> =
            members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Value::Object(members).to_string()
    });
    prop_oneof![3 => object, 1 => value().prop_map(|value| value.to_string()), 1 => text()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn no_request_causes_a_server_error(
        api in 0..3_usize,
        method in prop_oneof![Just("POST"), Just("PATCH"), Just("GET"), Just("HEAD"), Just("OPTIONS"), Just("PUT"), Just("")],
        path in 0..6_usize,
        id in 0..4_usize,
        query in prop_oneof![3 => Just(String::new()), 1 => text()],
        key in prop::option::weighted(0.9, prop_oneof![2 => "\"[a-z]{1,3}\"", 1 => text()]),
        if_match in prop::option::weighted(0.3, text()),
        body in body(),
        base64 in prop::bool::weighted(0.1),
        claims in prop::option::of(prop::collection::btree_map(prop_oneof![Just("sub"), Just("scope")], value(), 0..2)),
    ) {
        let target = &*TARGET;
        let id = &target.ids[id];
        let path = [
            "/payment-intents".to_owned(), format!("/payment-intents/{id}"), format!("/payment-intents/{id}/charge"),
            "/payments/health".to_owned(), "/payments/openapi.json".to_owned(), format!("/{id}"),
        ][path].clone();
        let mut request = RequestBuilder::new(method, &path).text(&body);
        request.0["rawQueryString"] = query.into();
        request.0["isBase64Encoded"] = base64.into();
        for (name, value) in [("idempotency-key", key), ("if-match", if_match)] {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        if let Some(claims) = claims {
            request = request.by(&json!(claims));
        }
        let reply = target.runtime.block_on(target.apis[api].send(request));
        prop_assert!(reply.status() < 500, "{:?}", reply);
    }
}
