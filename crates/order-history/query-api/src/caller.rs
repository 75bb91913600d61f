//! The caller of a request, and which consumers' orders they may see.

use api_gateway::Request;
use order_events::ConsumerId;

use crate::config::Authorization;
use crate::problem::ProblemKind;

/// The caller that a request's token names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    /// None for a service.
    pub(crate) consumer_id: Option<ConsumerId>,
    reads_any: bool,
}

/// With this scope, the caller may see the orders of every consumer.
pub(crate) const READ_ANY: &str = "orders:read-any";

impl Caller {
    pub(crate) fn identify(request: &Request, authorization: &Authorization) -> Result<Self, ProblemKind> {
        let consumer_id_claim = match authorization {
            Authorization::Off => return Ok(Self { consumer_id: None, reads_any: true }),
            Authorization::Jwt { consumer_id_claim } => consumer_id_claim,
        };
        let jwt = request.jwt().ok_or(ProblemKind::Unauthenticated)?;
        let consumer_id = jwt.claim(consumer_id_claim).and_then(|id| ConsumerId::parse(id).ok());
        let reads_any = jwt.has_scope(READ_ANY);
        // Neither a consumer nor allowed to see all orders: there is nothing they may see.
        if consumer_id.is_none() && !reads_any {
            return Err(ProblemKind::Forbidden);
        }
        Ok(Self { consumer_id, reads_any })
    }

    pub(crate) fn may_see(&self, consumer_id: &ConsumerId) -> bool {
        self.reads_any || self.consumer_id.as_ref() == Some(consumer_id)
    }
}
