//! The caller of a request, and which consumers' intents they may use.

use api_gateway::Request;
use order_events::ConsumerId;

use crate::config::Authorization;
use crate::problem::ProblemKind;

/// The caller that a request's token names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    /// Scopes the caller's idempotency keys. The names of consumers and services have different prefixes, so they are never equal.
    pub(crate) name: String,
    /// None for a service.
    pub(crate) consumer_id: Option<ConsumerId>,
    acts_for_any: bool,
}

/// With this scope, the caller may act for every consumer.
pub(crate) const WRITE_ANY: &str = "payments:write-any";

impl Caller {
    pub(crate) fn identify(request: &Request, authorization: &Authorization) -> Result<Self, ProblemKind> {
        let consumer_id_claim = match authorization {
            Authorization::Off => return Ok(Self { name: String::new(), consumer_id: None, acts_for_any: true }),
            Authorization::Jwt { consumer_id_claim } => consumer_id_claim,
        };
        let jwt = request.jwt().ok_or(ProblemKind::Unauthenticated)?;
        let claim = |name| jwt.claim(name).filter(|value| !value.is_empty());
        let (client, subject) = (claim("client_id"), claim("sub"));
        // The subject of a service's token is its client id, not a consumer.
        // <https://www.rfc-editor.org/rfc/rfc9068#section-2.2>
        let consumer = claim(consumer_id_claim).filter(|id| client.as_ref() != Some(id));
        let consumer_id = consumer.and_then(|id| ConsumerId::parse(&id).ok());
        let acts_for_any = jwt.has_scope(WRITE_ANY);
        // The caller is not a consumer and may not act for others, so they may do nothing.
        if consumer_id.is_none() && !acts_for_any {
            return Err(ProblemKind::Forbidden);
        }
        let name = match (&consumer_id, client, subject) {
            (Some(consumer_id), _, _) => format!("consumer:{consumer_id}"),
            (None, Some(client), _) => format!("client:{client}"),
            (None, None, Some(subject)) => format!("subject:{subject}"),
            // All callers without a name would share their idempotency keys.
            (None, None, None) => return Err(ProblemKind::NamelessCaller),
        };
        Ok(Self { name, consumer_id, acts_for_any })
    }

    pub(crate) fn may_act_for(&self, consumer_id: &ConsumerId) -> bool {
        self.acts_for_any || self.consumer_id.as_ref() == Some(consumer_id)
    }
}
