//! Who is asking, and whose intents they may use.

use api_gateway::Request;
use order_events::ConsumerId;

use crate::config::Authorization;
use crate::problem::ProblemKind;

/// Who is asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    /// Whose idempotency keys are theirs alone. Consumers and services have names of different kinds.
    pub(crate) name: String,
    /// The one consumer that they act for; none if they act for any.
    pub(crate) consumer_id: Option<ConsumerId>,
}

/// The scope that acts for every consumer.
pub(crate) const WRITE_ANY: &str = "payments:write-any";

impl Caller {
    pub(crate) fn identify(request: &Request, authorization: &Authorization) -> Result<Self, ProblemKind> {
        let consumer_id_claim = match authorization {
            Authorization::Off => return Ok(Self { name: String::new(), consumer_id: None }),
            Authorization::Jwt { consumer_id_claim } => consumer_id_claim,
        };
        let jwt = request.jwt().ok_or(ProblemKind::Unauthenticated)?;
        let claim = |name| jwt.claim(name).filter(|value| !value.is_empty());
        let consumer_id = claim(consumer_id_claim).and_then(|id| ConsumerId::parse(&id).ok());
        let named = consumer_id.as_ref().map(|id| format!("consumer:{id}"));
        if !jwt.has_scope(WRITE_ANY) {
            // Neither a consumer nor one who acts for all: there is nothing they may do.
            let (Some(name), Some(_)) = (named, &consumer_id) else { return Err(ProblemKind::Forbidden) };
            return Ok(Self { name, consumer_id });
        }
        // A service's token may name no consumer; then its client is the caller. The keys of services without a name would be
        // one another's.
        let client = || claim("client_id").map(|id| format!("client:{id}"));
        let subject = || claim("sub").map(|id| format!("subject:{id}"));
        let name = named.or_else(client).or_else(subject).ok_or(ProblemKind::NamelessCaller)?;
        Ok(Self { name, consumer_id: None })
    }

    pub(crate) fn may_act_for(&self, consumer_id: &ConsumerId) -> bool {
        self.consumer_id.as_ref().is_none_or(|own| own == consumer_id)
    }
}
