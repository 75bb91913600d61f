"""What the OpenAPI document cannot say, told to schemathesis.

A startKey belongs to one consumer and filter, a Consistency-Token to one order. Made up to their patterns they are rightly
refused, so valid requests go without them; invalid ones are sent as they are. crates/query-api tests real ones.
"""

import schemathesis

OPAQUE = {"query": ["startKey"], "headers": ["Consistency-Token"]}


@schemathesis.hook
def before_call(context, case, kwargs):
    if not case.meta or not case.meta.generation.mode.is_positive:
        return
    for container, names in OPAQUE.items():
        for name in names:
            (getattr(case, container) or {}).pop(name, None)
