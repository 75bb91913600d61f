//! The meaning of the gateway's HTTP responses. A response that is not definite is unknown.

use payment_intents::{ChargeId, Decline, Outcome};
use serde::Deserialize;

use crate::{ChargeRequest, Unknown};

/// A status and a complete body.
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Succeeded {
    charge_id: String,
    status: String,
    amount: Option<i64>,
    currency: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Declined {
    charge_id: Option<String>,
    code: String,
    message: Option<String>,
}

#[derive(Deserialize)]
struct ChargeList {
    charges: Vec<ListedCharge>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListedCharge {
    charge_id: String,
    idempotency_key: String,
    amount: i64,
    currency: String,
    status: String,
}

const SUCCEEDED: &str = "succeeded";

impl HttpResponse {
    /// Reads the response to a charge.
    pub(crate) fn to_charge(&self, request: &ChargeRequest) -> Result<Outcome, Unknown> {
        match self.status {
            200 => {
                let Succeeded { charge_id, status, amount, currency } = self.json()?;
                if status != SUCCEEDED {
                    return Err(self.unexpected("the charge's status is not succeeded"));
                }
                // The contract does not require these two, but if they differ, the gateway has charged something else.
                let is_as_requested = amount.is_none_or(|amount| amount == request.amount.minor_units())
                    && currency.is_none_or(|currency| currency == request.currency.as_str());
                if !is_as_requested {
                    return Err(self.unexpected("the charge has another amount or currency"));
                }
                Ok(Outcome::Charged { charge_id: self.charge_id(charge_id)? })
            }
            402 => {
                let Declined { charge_id, code, message } = self.json()?;
                if code.is_empty() {
                    return Err(self.unexpected("the decline has no code"));
                }
                let charge_id = charge_id.map(|charge_id| self.charge_id(charge_id)).transpose()?;
                Ok(Outcome::Declined(Decline::new(charge_id, &code, message.as_deref())))
            }
            _ => Err(self.unknown()),
        }
    }

    /// Reads the response to a look-up of the request's charge key.
    pub(crate) fn to_look_up(&self, request: &ChargeRequest) -> Result<Option<ChargeId>, Unknown> {
        if self.status != 200 {
            return Err(self.unknown());
        }
        let ChargeList { mut charges } = self.json()?;
        let has_our_key = |charge: &ListedCharge| charge.idempotency_key == request.charge_key.as_str();
        if !charges.iter().all(has_our_key) {
            // A gateway that ignores the filter may return other charges instead of ours.
            return Err(self.unexpected("the response contains charges with other keys"));
        }
        let Some(charge) = charges.pop() else {
            return Ok(None);
        };
        if !charges.is_empty() {
            return Err(self.unexpected("the response contains several charges with this key"));
        }
        if charge.status != SUCCEEDED {
            return Err(self.unexpected("the charge's status is not succeeded"));
        }
        if charge.amount != request.amount.minor_units() || charge.currency != request.currency.as_str() {
            return Err(self.unexpected("the charge has another amount or currency"));
        }
        self.charge_id(charge.charge_id).map(Some)
    }

    fn unknown(&self) -> Unknown {
        let status = self.status;
        match status {
            401 | 403 => Unknown::Refused { status },
            408 => Unknown::Timeout,
            409 => Unknown::InProgress,
            422 => Unknown::KeyReused,
            429 => Unknown::Throttled,
            500..=599 => Unknown::Failed { status },
            _ => self.unexpected("the status is not in the contract"),
        }
    }

    fn json<'a, T: Deserialize<'a>>(&'a self) -> Result<T, Unknown> {
        // The parser's error may contain a part of the body, so it is dropped.
        serde_json::from_slice(&self.body).map_err(|_| self.unexpected("the body is not the JSON of the contract"))
    }

    fn charge_id(&self, charge_id: String) -> Result<ChargeId, Unknown> {
        ChargeId::parse(charge_id).map_err(|_| self.unexpected("the charge's id is not valid"))
    }

    fn unexpected(&self, problem: &'static str) -> Unknown {
        Unknown::Unexpected { status: self.status, problem }
    }
}
