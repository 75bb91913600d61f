//! Who is asking, and whose intents they may use.

use api_gateway::Request;
use order_events::ConsumerId;

use crate::config::Authorization;
use crate::problem::ProblemKind;

/// Who is asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    /// Whose idempotency keys are theirs alone.
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
        let name = jwt.claim(consumer_id_claim);
        let consumer_id = name.as_deref().and_then(|id| ConsumerId::parse(id).ok());
        let acts_for_any = jwt.has_scope(WRITE_ANY);
        // Neither a consumer nor one who acts for all: there is nothing they may do.
        if consumer_id.is_none() && !acts_for_any {
            return Err(ProblemKind::Forbidden);
        }
        // A service's token may name no consumer; then its client is the caller.
        let name = name.or_else(|| jwt.claim("client_id")).or_else(|| jwt.claim("sub")).unwrap_or_default();
        Ok(Self { name, consumer_id, acts_for_any })
    }

    pub(crate) fn may_act_for(&self, consumer_id: &ConsumerId) -> bool {
        self.acts_for_any || self.consumer_id.as_ref() == Some(consumer_id)
    }
}
