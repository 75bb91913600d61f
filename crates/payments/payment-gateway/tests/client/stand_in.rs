//! Real connections to the stand-in gateway, with every fault it has.

use std::time::Duration;

use aws_smithy_http_client::tls::TlsContext;
use payment_gateway::{ChargeRequest, Gateway, HttpGateway, Outcome, RequestPolicy, Secret};
use stand_in_gateway::{Settings, StandIn};
use tokio::net::TcpListener;

use crate::wire::{in_time, request};

#[tokio::test]
async fn a_charge_is_made_and_found() {
    let (stand_in, gateway) = start().await;
    let request = request(1_250);
    assert_eq!(gateway.look_up(&request, in_time()).await.unwrap(), None);
    let outcome = gateway.charge(&request, in_time()).await.unwrap();
    let Outcome::Charged { charge_id } = &outcome else { panic!("{outcome:?}") };
    assert_eq!(gateway.look_up(&request, in_time()).await.unwrap().as_ref(), Some(charge_id));
    assert_eq!(gateway.charge(&request, in_time()).await.unwrap(), outcome, "the same charge");
    let [charge] = &stand_in.charges()[..] else { panic!("one charge") };
    assert_eq!((charge.charge_id.as_str(), charge.amount), (charge_id.as_str(), 1_250));
}

#[tokio::test]
async fn a_charge_is_decided_after_any_fault_of_the_gateway() {
    // The amount, and whether it is charged.
    for (amount, is_charged) in [(1_002, false), (1_003, true), (1_005, true), (1_009, true)] {
        let (stand_in, gateway) = start().await;
        let request = request(amount);
        let outcome = gateway.charge(&request, in_time()).await.unwrap();
        assert_eq!(matches!(outcome, Outcome::Charged { .. }), is_charged, "{amount}: {outcome:?}");
        assert_eq!(stand_in.charges().len(), usize::from(is_charged), "{amount}");
        let found = gateway.look_up(&request, in_time()).await.unwrap();
        assert_eq!(found.is_some(), is_charged, "{amount}: {found:?}");
    }
}

#[tokio::test]
async fn the_outcome_of_a_reused_key_is_unknown() {
    let (stand_in, gateway) = start().await;
    let first = request(1_250);
    gateway.charge(&first, in_time()).await.unwrap();
    let other = ChargeRequest { charge_key: first.charge_key, ..request(1_260) };
    assert_eq!(gateway.charge(&other, in_time()).await.unwrap_err().code(), "gateway_key_reused");
    assert_eq!(stand_in.charges().len(), 1);
}

#[tokio::test]
async fn a_stopped_gateway_is_unreachable() {
    let (stand_in, gateway) = start().await;
    drop(stand_in);
    tokio::task::yield_now().await;
    let unknown = gateway.charge(&request(1_250), in_time()).await.unwrap_err();
    assert_eq!(unknown.code(), "gateway_unreachable", "{unknown:?}");
}

/// A gateway whose slow charges take longer than one request of the client, and shorter than all of them.
async fn start() -> (StandIn, HttpGateway) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let secret = "s3cret";
    let settings = Settings { secret: Some(secret.to_owned()), slow: Duration::from_millis(300), file: None };
    let stand_in = StandIn::start(listener, settings).unwrap();
    let policy = RequestPolicy {
        attempt_timeout: Duration::from_millis(200),
        attempts: 8,
        pause: Duration::from_millis(20),
        ..RequestPolicy::default()
    };
    let gateway =
        HttpGateway::new(&stand_in.url(), TlsContext::default(), Secret::fixed(secret).unwrap(), policy).unwrap();
    (stand_in, gateway)
}
