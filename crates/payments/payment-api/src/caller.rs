//! Who is asking, and whose intents they may use.

use api_gateway::Request;
use order_events::ConsumerId;

use crate::config::Authorization;
use crate::problem::ProblemKind;

/// The caller that a request's token names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    /// Whose idempotency keys are theirs alone. Consumers and services have names of different kinds.
    pub(crate) name: String,
    /// The consumer they are, if they are one.
    pub(crate) consumer_id: Option<ConsumerId>,
    acts_for_any: bool,
}

/// The scope that acts for every consumer.
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
        // The subject of a service's token is its client, which is no consumer.
        // <https://www.rfc-editor.org/rfc/rfc9068#section-2.2>
        let consumer = claim(consumer_id_claim).filter(|id| client.as_ref() != Some(id));
        let consumer_id = consumer.and_then(|id| ConsumerId::parse(&id).ok());
        let acts_for_any = jwt.has_scope(WRITE_ANY);
        // Neither a consumer nor one who acts for all: there is nothing they may do.
        if consumer_id.is_none() && !acts_for_any {
            return Err(ProblemKind::Forbidden);
        }
        let name = match (&consumer_id, client, subject) {
            (Some(consumer_id), _, _) => format!("consumer:{consumer_id}"),
            (None, Some(client), _) => format!("client:{client}"),
            (None, None, Some(subject)) => format!("subject:{subject}"),
            // The keys of all callers without a name would be one another's.
            (None, None, None) => return Err(ProblemKind::NamelessCaller),
        };
        Ok(Self { name, consumer_id, acts_for_any })
    }

    pub(crate) fn may_act_for(&self, consumer_id: &ConsumerId) -> bool {
        self.acts_for_any || self.consumer_id.as_ref() == Some(consumer_id)
    }
}
