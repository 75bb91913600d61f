//! JSON schemas of the types, for API documents.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::{AggregateId, ConsumerId, CourierId, Degrees, EventId, EventType, Money, OrderId, Timestamp};

macro_rules! schemas {
    ($($type:ty $(where $limit:ident)? => $schema:tt;)*) => {$(
        impl$(<const $limit: i32>)? JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    )*};
}

schemas! {
    OrderId => {"type": "string"};
    AggregateId => {"type": "string"};
    ConsumerId => {"type": "string"};
    CourierId => {"type": "string"};
    EventId => {"type": "string"};
    EventType => {"type": "string", "enum": EventType::ALL.iter().map(|event_type| event_type.name()).collect::<Vec<_>>()};
    Timestamp => {"type": "string", "format": "date-time"};
    Money => {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$"};
    Degrees<LIMIT> where LIMIT => {"type": "number", "minimum": -LIMIT, "maximum": LIMIT};
}
