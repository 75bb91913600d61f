//! The response to a command. The same bytes are sent, recorded, and sent again to a repetition.

use api_gateway::{JSON, PROBLEM_JSON, Response};
use order_events::{ConsistencyToken, EventType};
use payment_intents::StateName;
use payment_store::StoredIntent;
use serde::{Deserialize, Serialize};

use crate::intent::ShownIntent;
use crate::problem::ProblemKind;

/// The recorded part of a response. Members may be added. The meaning of a member must not change within 24 hours, the life of a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RecordedResponse {
    status: u16,
    body: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    etag: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    consistency_token: Option<String>,
}

impl RecordedResponse {
    pub(crate) fn created(found: &StoredIntent) -> Self {
        let location = format!("/payment-intents/{}", found.intent.id());
        Self { location: Some(location), ..Self::of(201, found) }
    }

    pub(crate) fn changed(found: &StoredIntent) -> Self {
        Self::of(200, found)
    }

    /// 202 until the charge is decided, then 200. The consistency token names the last event that the intent published.
    pub(crate) fn charged(found: &StoredIntent) -> Self {
        let state = found.intent.state().name();
        let status = if state.is_final() { 200 } else { 202 };
        let event_type = match state {
            StateName::Created => None,
            StateName::ChargeRequested => Some(EventType::PaymentIntentChargeRequested),
            StateName::Charged => Some(EventType::PaymentIntentCharged),
            StateName::ChargeFailed => Some(EventType::PaymentIntentChargeFailed),
        };
        let token = event_type.zip(found.last_event_id).map(|(event_type, event_id)| {
            let order_id = found.intent.order_id().clone();
            ConsistencyToken { event_type, event_id, order_id }.to_string()
        });
        Self { consistency_token: token, ..Self::of(status, found) }
    }

    /// A refusal by the domain.
    pub(crate) fn refused(kind: ProblemKind, request_id: &str) -> Self {
        let document = kind.document(request_id, Vec::new());
        Self { status: document.status, body: json(&document), etag: None, location: None, consistency_token: None }
    }

    fn of(status: u16, found: &StoredIntent) -> Self {
        let body = json(&ShownIntent::from(&found.intent));
        Self { status, body, etag: Some(etag(found)), location: None, consistency_token: None }
    }

    pub(crate) fn read(recorded: &str) -> serde_json::Result<Self> {
        serde_json::from_str(recorded)
    }

    pub(crate) fn to_record(&self) -> String {
        json(self)
    }

    pub(crate) fn respond(self) -> Response {
        let content_type = if self.status >= 400 { PROBLEM_JSON } else { JSON };
        let response = Response::json(self.status, content_type, self.body).with("cache-control", "no-store");
        let optional =
            [("etag", self.etag), ("location", self.location), ("consistency-token", self.consistency_token)];
        optional.into_iter().fold(response, |response, (name, value)| match value {
            Some(value) => response.with(name, value),
            None => response,
        })
    }
}

/// A strong tag, because a version has exactly one representation.
pub(crate) fn etag(found: &StoredIntent) -> String {
    format!("\"{}\"", found.intent.version())
}

/// Cannot fail: the values hold only texts and numbers.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
