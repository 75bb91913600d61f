//! Who is asking, and what they may see.

use order_events::ConsumerId;
use serde_json::Value;

use crate::config::Authorization;
use crate::problem::ProblemKind;
use crate::request::{Jwt, Request};

/// Who is asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    /// The consumer they are, if they are one.
    pub(crate) consumer_id: Option<ConsumerId>,
    reads_any: bool,
}

/// The scope that sees everybody's orders.
pub(crate) const READ_ANY: &str = "orders:read-any";

impl Caller {
    pub(crate) fn identify(request: &Request, authorization: &Authorization) -> Result<Self, ProblemKind> {
        let consumer_id_claim = match authorization {
            Authorization::Off => return Ok(Self { consumer_id: None, reads_any: true }),
            Authorization::Jwt { consumer_id_claim } => consumer_id_claim,
        };
        let jwt = request.jwt().ok_or(ProblemKind::Unauthenticated)?;
        let consumer_id = jwt.claims.get(consumer_id_claim).and_then(text).and_then(|id| ConsumerId::parse(id).ok());
        let reads_any = has_scope(jwt, READ_ANY);
        // Neither a consumer nor a reader of all: there is nothing they may see.
        if consumer_id.is_none() && !reads_any {
            return Err(ProblemKind::Forbidden);
        }
        Ok(Self { consumer_id, reads_any })
    }

    pub(crate) fn may_see(&self, consumer_id: &ConsumerId) -> bool {
        self.reads_any || self.consumer_id.as_ref() == Some(consumer_id)
    }
}

/// The token's own scopes, in the claim `scope` or, with some issuers, `scp`. `jwt.scopes` is not asked: it may hold what the
/// route wants instead of what the token has.
fn has_scope(jwt: &Jwt, scope: &str) -> bool {
    let claims = ["scope", "scp"].into_iter().filter_map(|claim| jwt.claims.get(claim)).filter_map(text);
    // API Gateway writes a list as `[one another]`.
    claims
        .into_iter()
        .any(|granted| granted.trim_matches(['[', ']']).split([' ', ',']).any(|granted| granted.trim() == scope))
}

/// API Gateway writes every claim as a text; a number in a test or another gateway is as good.
fn text(claim: &Value) -> Option<String> {
    match claim {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}
