// Made by `make generated` from crates/order-history/query-api/openapi.json. Changes here are lost.

export interface paths {
    "/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Check whether the API works */
        get: operations["health"];
        put?: never;
        post?: never;
        delete?: never;
        /** The allowed methods */
        options: operations["healthOptions"];
        /** The headers of GET */
        head: operations["healthHead"];
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This document */
        get: operations["openapi"];
        put?: never;
        post?: never;
        delete?: never;
        /** The allowed methods */
        options: operations["openapiOptions"];
        /** The headers of GET */
        head: operations["openapiHead"];
        patch?: never;
        trace?: never;
    };
    "/orders": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A consumer's orders, newest first
         * @description A page may be short or empty, because orders are large or few of them match. The list ends only where `startKey` is missing. A consumer sees their own orders; a caller with the scope `orders:read-any` sees the orders of every consumer.
         */
        get: operations["findOrderHistory"];
        put?: never;
        post?: never;
        delete?: never;
        /** The allowed methods */
        options: operations["findOrderHistoryOptions"];
        /**
         * The headers of GET
         * @description A page may be short or empty, because orders are large or few of them match. The list ends only where `startKey` is missing. A consumer sees their own orders; a caller with the scope `orders:read-any` sees the orders of every consumer.
         */
        head: operations["findOrderHistoryHead"];
        patch?: never;
        trace?: never;
    };
    "/orders/{orderId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One order with all its details
         * @description Orders of other consumers are reported as not found.
         */
        get: operations["findOrder"];
        put?: never;
        post?: never;
        delete?: never;
        /** The allowed methods */
        options: operations["findOrderOptions"];
        /**
         * The headers of GET
         * @description Orders of other consumers are reported as not found.
         */
        head: operations["findOrderHead"];
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description A postal address. */
        Address: {
            /** @description City. */
            city?: string;
            /** @description State or region. */
            state?: string;
            /** @description Street and number. */
            street1?: string;
            /** @description Flat, floor, company. */
            street2?: string;
            /** @description Postal code. */
            zip?: string;
        };
        /** @description The delivery of an order. */
        Delivery: {
            /** @description The courier's id. */
            courierId?: string;
            /**
             * Format: date-time
             * @description The estimated time of delivery, in UTC.
             */
            estimatedDeliveryTime?: string;
            /**
             * Format: date-time
             * @description The estimated time of the courier's arrival at the restaurant, in UTC.
             */
            estimatedPickupTime?: string;
            /** @description The last known location of the courier. It is never in a list. */
            location?: components["schemas"]["Location"];
            /** @description The status of the delivery. */
            status?: ("SCHEDULED" | "PICKED_UP" | "DELIVERED") | string;
        };
        /** @description An error that API Gateway itself returns, without the function. */
        GatewayError: {
            message: string;
        };
        /** @description One line of an order. */
        LineItem: {
            /** @description The menu item's id. */
            menuItemId: string;
            /** @description The item's name when the order was created. */
            name: string;
            /** @description The price of one item: a decimal text. */
            price: string;
            /**
             * Format: uint32
             * @description The number of items.
             */
            quantity: number;
        };
        /** @description The last known location of the courier. */
        Location: {
            /**
             * Format: date-time
             * @description The time, in UTC.
             */
            at: string;
            /** @description Degrees north. */
            latitude: number;
            /** @description Degrees east. */
            longitude: number;
        };
        /** @description One mistake in a request. */
        Mistake: {
            /** @description What to change. */
            detail: string;
            /**
             * @description Where the parameter is: `query`, `path` or `header`.
             * @enum {string}
             */
            in: "query" | "path" | "header";
            /** @description The parameter's name. */
            parameter: string;
        };
        /** @description An order with all its details. Unknown members are left out. */
        Order: {
            /** @description The consumer who ordered. */
            consumerId: string;
            /** @description The delivery of the order. */
            delivery?: components["schemas"]["Delivery"];
            /** @description The address to deliver to. */
            deliveryAddress?: components["schemas"]["Address"];
            /**
             * Format: date-time
             * @description The requested time of delivery, in UTC.
             */
            deliveryTime?: string;
            /** @description The ordered items, with revised quantities. */
            lineItems?: components["schemas"]["LineItem"][];
            /**
             * Format: date-time
             * @description The time when the order was created, in UTC.
             */
            orderCreationTime: string;
            /** @description The order's id. */
            orderId: string;
            /** @description The current total of the order: a decimal text. */
            orderTotal?: string;
            /** @description The payment of the order. */
            payment?: components["schemas"]["Payment"];
            /**
             * Format: uint64
             * @description The restaurant's id.
             */
            restaurantId?: number;
            /** @description The restaurant's name when the order was created. */
            restaurantName?: string;
            /** @description The status of the order. */
            status?: ("APPROVAL_PENDING" | "APPROVED" | "REJECTED" | "CANCELLED" | "REVISION_PENDING") | string;
            /** @description The ticket of the kitchen. */
            ticket?: components["schemas"]["Ticket"];
            /** @description The events of the order, sorted by event id. */
            timeline: components["schemas"]["TimelineEntry"][];
        };
        /** @description An order in a list. Unknown members are left out. */
        OrderEntry: {
            /** @description The consumer who ordered. */
            consumerId: string;
            /** @description The delivery of the order. */
            delivery?: components["schemas"]["Delivery"];
            /** @description The ordered items, with revised quantities. */
            lineItems?: components["schemas"]["LineItem"][];
            /**
             * Format: date-time
             * @description The time when the order was created, in UTC.
             */
            orderCreationTime: string;
            /** @description The order's id. */
            orderId: string;
            /** @description The current total of the order: a decimal text. */
            orderTotal?: string;
            /** @description The payment of the order. */
            payment?: components["schemas"]["Payment"];
            /**
             * Format: uint64
             * @description The restaurant's id.
             */
            restaurantId?: number;
            /** @description The restaurant's name when the order was created. */
            restaurantName?: string;
            /** @description The status of the order. */
            status?: ("APPROVAL_PENDING" | "APPROVED" | "REJECTED" | "CANCELLED" | "REVISION_PENDING") | string;
            /** @description The ticket of the kitchen. */
            ticket?: components["schemas"]["Ticket"];
        };
        /** @description A page of a consumer's orders. */
        OrderHistory: {
            /** @description Newest first. There may be fewer than `pageSize`, or none, even if the list continues. */
            orders: components["schemas"]["OrderEntry"][];
            /** @description The start of the next page. It is missing only at the end of the list. */
            startKey?: string;
        };
        /** @description The payment of an order. */
        Payment: {
            /**
             * Format: int64
             * @description The amount in the currency's minor units, such as cents.
             */
            amount: number;
            /** @description The payment gateway's id of the charge. */
            chargeId?: string;
            /** @description The currency (ISO 4217), such as `USD`. */
            currency: string;
            /** @description Why the charge failed, for programs. */
            errorCode?: string;
            /** @description Why the charge failed, for people. */
            errorMessage?: string;
            /** @description The id of the payment intent. */
            paymentIntentId: string;
            /** @description The status of the payment. */
            status: ("CHARGE_REQUESTED" | "CHARGED" | "CHARGE_FAILED") | string;
        };
        /** @description A problem document (RFC 9457). */
        Problem: {
            /** @description What to do about it. */
            detail: string;
            /** @description Every mistake in the request's parameters; left out if that is not the problem. */
            errors?: components["schemas"]["Mistake"][];
            /** @description Names this request in our logs. */
            requestId: string;
            /**
             * Format: uint16
             * @description The HTTP status.
             */
            status: number;
            /** @description The kind of problem in words. */
            title: string;
            /**
             * @description Names the kind of problem; it does not change.
             * @enum {string}
             */
            type: "urn:ftgo:order-history:problem:invalid-parameters" | "urn:ftgo:order-history:problem:unauthenticated" | "urn:ftgo:order-history:problem:forbidden" | "urn:ftgo:order-history:problem:order-not-found" | "urn:ftgo:order-history:problem:route-not-found" | "urn:ftgo:order-history:problem:method-not-allowed" | "urn:ftgo:order-history:problem:not-yet-seen" | "urn:ftgo:order-history:problem:internal-error" | "urn:ftgo:order-history:problem:unavailable";
        };
        /** @description The ticket of the kitchen. */
        Ticket: {
            /**
             * Format: date-time
             * @description The time when the food should be ready, in UTC.
             */
            readyBy?: string;
            /** @description The status of the kitchen's work. */
            status?: ("AWAITING_ACCEPTANCE" | "ACCEPTED" | "PREPARING" | "READY_FOR_PICKUP" | "PICKED_UP" | "CANCELLED") | string;
        };
        /** @description An event of the order. Entries sort by event id. */
        TimelineEntry: {
            /**
             * Format: date-time
             * @description The time, in UTC.
             */
            at: string;
            /** @description The event's id. */
            eventId: string;
            /**
             * @description What happened.
             * @enum {string}
             */
            type: "OrderCreated" | "OrderAuthorized" | "OrderRejected" | "OrderCancelled" | "OrderRevisionProposed" | "OrderRevised" | "TicketCreated" | "TicketAccepted" | "TicketPreparationStarted" | "TicketPreparationCompleted" | "TicketPickedUp" | "TicketCancelled" | "DeliveryScheduled" | "DeliveryPickedUp" | "DeliveryLocationUpdated" | "DeliveryDelivered" | "PaymentIntentChargeRequested" | "PaymentIntentCharged" | "PaymentIntentChargeFailed";
        };
    };
    responses: never;
    parameters: {
        /** @description The token of a command's response. The answer then includes the command's event; if it is not processed yet: 412. */
        ConsistencyToken: string;
        /**
         * @description The ETag of the answer that you have: 304 if it is still current.
         * @example W/"9b2cf535f27731c974343645a3985328"
         */
        IfNoneMatch: string;
        /**
         * @description `wait=N`: wait up to N seconds for the event of the Consistency-Token. The largest N is 10; the operator may set a lower limit.
         * @example wait=5
         */
        Prefer: string;
    };
    requestBodies: never;
    headers: {
        /**
         * @description The allowed methods.
         * @example GET, HEAD, OPTIONS
         */
        Allow: string;
        /**
         * @description Who may cache the answer, and how.
         * @example private, no-cache
         */
        "Cache-Control": string;
        /**
         * @description The version of this answer, for If-None-Match.
         * @example W/"9b2cf535f27731c974343645a3985328"
         */
        ETag: string;
        /**
         * @description The next page, relative to this one. It is missing on the last page.
         * @example <?consumerId=7&startKey=Ab2KD5Bn0XfiAAABoUiIzXsAAAGh4uLp5jk5>; rel="next"
         */
        Link: string;
        /**
         * @description Wait this many seconds, then retry.
         * @example 1
         */
        "Retry-After": string;
        /**
         * @description The answer depends on the caller.
         * @example Authorization
         */
        Vary: string;
        /**
         * @description How to authenticate.
         * @example Bearer
         */
        "WWW-Authenticate": string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    health: {
        parameters: {
            query?: {
                /**
                 * @description `1`: also read from the table.
                 * @example 1
                 */
                deep?: "0" | "1";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The API works */
            200: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                    };
                };
            };
            /** @description Invalid parameters */
            400: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "detail": "Correct the mistakes listed in `errors`, then send the request again.",
                     *       "errors": [
                     *         {
                     *           "detail": "must be a whole number from 1 to 100",
                     *           "in": "query",
                     *           "parameter": "pageSize"
                     *         }
                     *       ],
                     *       "requestId": "Zr1hOh5PoAMEJ9g=",
                     *       "status": 400,
                     *       "title": "Invalid parameters",
                     *       "type": "urn:ftgo:order-history:problem:invalid-parameters"
                     *     }
                     */
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Method not allowed */
            405: {
                headers: {
                    Allow: components["headers"]["Allow"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "detail": "Use a method listed in the Allow header.",
                     *       "requestId": "Zr1hOh5PoAMEJ9g=",
                     *       "status": 405,
                     *       "title": "Method not allowed",
                     *       "type": "urn:ftgo:order-history:problem:method-not-allowed"
                     *     }
                     */
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error */
            500: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "message": "Internal Server Error"
                     *     }
                     */
                    "application/json": components["schemas"]["GatewayError"];
                    /**
                     * @example {
                     *       "detail": "Internal error. If it persists, contact us with the request id.",
                     *       "requestId": "Zr1hOh5PoAMEJ9g=",
                     *       "status": 500,
                     *       "title": "Internal error",
                     *       "type": "urn:ftgo:order-history:problem:internal-error"
                     *     }
                     */
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable */
            503: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "message": "Service Unavailable"
                     *     }
                     */
                    "application/json": components["schemas"]["GatewayError"];
                    /**
                     * @example {
                     *       "detail": "Wait as many seconds as Retry-After says, then retry.",
                     *       "requestId": "Zr1hOh5PoAMEJ9g=",
                     *       "status": 503,
                     *       "title": "Temporarily unavailable",
                     *       "type": "urn:ftgo:order-history:problem:unavailable"
                     *     }
                     */
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    healthOptions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description No content */
            204: {
                headers: {
                    Allow: components["headers"]["Allow"];
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    healthHead: {
        parameters: {
            query?: {
                /**
                 * @description `1`: also read from the table.
                 * @example 1
                 */
                deep?: "0" | "1";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The API works */
            200: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Invalid parameters */
            400: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Method not allowed */
            405: {
                headers: {
                    Allow: components["headers"]["Allow"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Internal error */
            500: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Temporarily unavailable */
            503: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    openapi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description This document */
            200: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "openapi": "3.1.0"
                     *     }
                     */
                    "application/json": Record<string, never>;
                };
            };
            /** @description Method not allowed */
            405: {
                headers: {
                    Allow: components["headers"]["Allow"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "detail": "Use a method listed in the Allow header.",
                     *       "requestId": "Zr1hOh5PoAMEJ9g=",
                     *       "status": 405,
                     *       "title": "Method not allowed",
                     *       "type": "urn:ftgo:order-history:problem:method-not-allowed"
                     *     }
                     */
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error */
            500: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "message": "Internal Server Error"
                     *     }
                     */
                    "application/json": components["schemas"]["GatewayError"];
                    /**
                     * @example {
                     *       "detail": "Internal error. If it persists, contact us with the request id.",
                     *       "requestId": "Zr1hOh5PoAMEJ9g=",
                     *       "status": 500,
                     *       "title": "Internal error",
                     *       "type": "urn:ftgo:order-history:problem:internal-error"
                     *     }
                     */
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    openapiOptions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description No content */
            204: {
                headers: {
                    Allow: components["headers"]["Allow"];
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    openapiHead: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description This document */
            200: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Method not allowed */
            405: {
                headers: {
                    Allow: components["headers"]["Allow"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Internal error */
            500: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    findOrderHistory: {
        parameters: {
            query?: {
                /**
                 * @description The consumer whose orders are listed. The default is the consumer in the token.
                 * @example 1511300065921
                 */
                consumerId?: string;
                /**
                 * @description Only orders with at least one of these words in the name of the restaurant or of a menu item. Case does not matter. The parameter may be repeated; at most 10 words in total.
                 * @example [
                 *       "vindaloo"
                 *     ]
                 */
                keywords?: string[];
                /**
                 * @description The largest number of orders on a page.
                 * @example 20
                 */
                pageSize?: number;
                /**
                 * @description Only orders created after this time: RFC 3339, or milliseconds since 1970. The default is 30 days before the request of the first page.
                 * @example 2026-03-01T00:00:00Z
                 */
                since?: string;
                /** @description The `startKey` of the previous page. Except `pageSize`, all other parameters must be the same. */
                startKey?: string;
                /**
                 * @description Only orders with this status.
                 * @example APPROVED
                 */
                status?: "APPROVAL_PENDING" | "APPROVED" | "REJECTED" | "CANCELLED" | "REVISION_PENDING";
            };
            header?: {
                /** @description The token of a command's response. The answer then includes the command's event; if it is not processed yet: 412. */
                "Consistency-Token"?: components["parameters"]["ConsistencyToken"];
                /**
                 * @description The ETag of the answer that you have: 304 if it is still current.
                 * @example W/"9b2cf535f27731c974343645a3985328"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /**
                 * @description `wait=N`: wait up to N seconds for the event of the Consistency-Token. The largest N is 10; the operator may set a lower limit.
                 * @example wait=5
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of orders */
            200: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    ETag: components["headers"]["ETag"];
                    Link: components["headers"]["Link"];
                    Vary: components["headers"]["Vary"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "orders": [
                     *         {
                     *           "consumerId": "1511300065921",
                     *           "delivery": {
                     *             "courierId": "7",
                     *             "estimatedDeliveryTime": "2026-03-01T12:55:00.000Z",
                     *             "estimatedPickupTime": "2026-03-01T12:32:00.000Z",
                     *             "status": "SCHEDULED"
                     *           },
                     *           "lineItems": [
                     *             {
                     *               "menuItemId": "1",
                     *               "name": "Chicken Vindaloo",
                     *               "price": "12.34",
                     *               "quantity": 1
                     *             }
                     *           ],
                     *           "orderCreationTime": "2026-03-01T12:00:00.007Z",
                     *           "orderId": "99",
                     *           "orderTotal": "35.29",
                     *           "payment": {
                     *             "amount": 3529,
                     *             "chargeId": "ch_3Q7y",
                     *             "currency": "USD",
                     *             "paymentIntentId": "pi_3Q7y",
                     *             "status": "CHARGED"
                     *           },
                     *           "restaurantId": 1,
                     *           "restaurantName": "Ajanta",
                     *           "status": "APPROVED",
                     *           "ticket": {
                     *             "readyBy": "2026-03-01T12:30:00.000Z",
                     *             "status": "ACCEPTED"
                     *           }
                     *         }
                     *       ],
                     *       "startKey": "Ab2KD5Bn0XfiAAABoUiIzXsAAAGh4uLp5jk5"
                     *     }
                     */
                    "application/json": components["schemas"]["OrderHistory"];
                };
            };
            /** @description The answer has not changed since the one named in If-None-Match */
            304: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    ETag: components["headers"]["ETag"];
                    Link: components["headers"]["Link"];
                    Vary: components["headers"]["Vary"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Invalid parameters */
            400: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "detail": "Correct the mistakes listed in `errors`, then send the request again.",
                     *       "errors": [
                     *         {
                     *           "detail": "must be a whole number from 1 to 100",
                     *           "in": "query",
                     *           "parameter": "pageSize"
                     *         }
                     *       ],
                     *       "requestId": "Zr1hOh5PoAMEJ9g=",
                     *       "status": 400,
                     *       "title": "Invalid parameters",
                     *       "type": "urn:ftgo:order-history:problem:invalid-parameters"
                     *     }
                     */
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "message": "Unauthorized"
                     *     }
                     */
                    "application/json": components["schemas"]["GatewayError"];
                    /**
                     * @example {
                     *       "detail": "Send a valid token: `Authorization: Bearer …`.",
                     *       "requestId": "Zr1hOh5PoAMEJ9g=",
                     *       "status": 401,
                     *       "title": "Not authenticated",
                     *       "type": "urn:ftgo:order-history:problem:unauthenticated"
                     *     }
                     */
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "detail": "You can see only your own orders. To see other orders, the token needs the scope orders:read-any.",
                     *       "requestId": "Zr1hOh5PoAMEJ9g=",
                     *       "status": 403,
                     *       "title": "Not allowed",
                     *       "type": "urn:ftgo:order-history:problem:forbidden"
                     *     }
                     */
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Method not allowed */
            405: {
                headers: {
                    Allow: components["headers"]["Allow"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "detail": "Use a method listed in the Allow header.",
                     *       "requestId": "Zr1hOh5PoAMEJ9g=",
                     *       "status": 405,
                     *       "title": "Method not allowed",
                     *       "type": "urn:ftgo:order-history:problem:method-not-allowed"
                     *     }
                     */
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Event not processed yet */
            412: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "detail": "The event of the Consistency-Token is not processed yet. Retry, or send `Prefer: wait=5`.",
                     *       "requestId": "Zr1hOh5PoAMEJ9g=",
                     *       "status": 412,
                     *       "title": "Event not processed yet",
                     *       "type": "urn:ftgo:order-history:problem:not-yet-seen"
                     *     }
                     */
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error */
            500: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "message": "Internal Server Error"
                     *     }
                     */
                    "application/json": components["schemas"]["GatewayError"];
                    /**
                     * @example {
                     *       "detail": "Internal error. If it persists, contact us with the request id.",
                     *       "requestId": "Zr1hOh5PoAMEJ9g=",
                     *       "status": 500,
                     *       "title": "Internal error",
                     *       "type": "urn:ftgo:order-history:problem:internal-error"
                     *     }
                     */
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable */
            503: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "message": "Service Unavailable"
                     *     }
                     */
                    "application/json": components["schemas"]["GatewayError"];
                    /**
                     * @example {
                     *       "detail": "Wait as many seconds as Retry-After says, then retry.",
                     *       "requestId": "Zr1hOh5PoAMEJ9g=",
                     *       "status": 503,
                     *       "title": "Temporarily unavailable",
                     *       "type": "urn:ftgo:order-history:problem:unavailable"
                     *     }
                     */
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    findOrderHistoryOptions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description No content */
            204: {
                headers: {
                    Allow: components["headers"]["Allow"];
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    findOrderHistoryHead: {
        parameters: {
            query?: {
                /**
                 * @description The consumer whose orders are listed. The default is the consumer in the token.
                 * @example 1511300065921
                 */
                consumerId?: string;
                /**
                 * @description Only orders with at least one of these words in the name of the restaurant or of a menu item. Case does not matter. The parameter may be repeated; at most 10 words in total.
                 * @example [
                 *       "vindaloo"
                 *     ]
                 */
                keywords?: string[];
                /**
                 * @description The largest number of orders on a page.
                 * @example 20
                 */
                pageSize?: number;
                /**
                 * @description Only orders created after this time: RFC 3339, or milliseconds since 1970. The default is 30 days before the request of the first page.
                 * @example 2026-03-01T00:00:00Z
                 */
                since?: string;
                /** @description The `startKey` of the previous page. Except `pageSize`, all other parameters must be the same. */
                startKey?: string;
                /**
                 * @description Only orders with this status.
                 * @example APPROVED
                 */
                status?: "APPROVAL_PENDING" | "APPROVED" | "REJECTED" | "CANCELLED" | "REVISION_PENDING";
            };
            header?: {
                /** @description The token of a command's response. The answer then includes the command's event; if it is not processed yet: 412. */
                "Consistency-Token"?: components["parameters"]["ConsistencyToken"];
                /**
                 * @description The ETag of the answer that you have: 304 if it is still current.
                 * @example W/"9b2cf535f27731c974343645a3985328"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /**
                 * @description `wait=N`: wait up to N seconds for the event of the Consistency-Token. The largest N is 10; the operator may set a lower limit.
                 * @example wait=5
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of orders */
            200: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    ETag: components["headers"]["ETag"];
                    Link: components["headers"]["Link"];
                    Vary: components["headers"]["Vary"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The answer has not changed since the one named in If-None-Match */
            304: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    ETag: components["headers"]["ETag"];
                    Link: components["headers"]["Link"];
                    Vary: components["headers"]["Vary"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Invalid parameters */
            400: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not allowed */
            403: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Method not allowed */
            405: {
                headers: {
                    Allow: components["headers"]["Allow"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Event not processed yet */
            412: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Internal error */
            500: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Temporarily unavailable */
            503: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    findOrder: {
        parameters: {
            query?: never;
            header?: {
                /** @description The token of a command's response. The answer then includes the command's event; if it is not processed yet: 412. */
                "Consistency-Token"?: components["parameters"]["ConsistencyToken"];
                /**
                 * @description The ETag of the answer that you have: 304 if it is still current.
                 * @example W/"9b2cf535f27731c974343645a3985328"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /**
                 * @description `wait=N`: wait up to N seconds for the event of the Consistency-Token. The largest N is 10; the operator may set a lower limit.
                 * @example wait=5
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path: {
                /**
                 * @description The order's id. Write a slash in it as %2F.
                 * @example 99
                 */
                orderId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The order */
            200: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    ETag: components["headers"]["ETag"];
                    Vary: components["headers"]["Vary"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "consumerId": "1511300065921",
                     *       "delivery": {
                     *         "courierId": "7",
                     *         "estimatedDeliveryTime": "2026-03-01T12:55:00.000Z",
                     *         "estimatedPickupTime": "2026-03-01T12:32:00.000Z",
                     *         "location": {
                     *           "at": "2026-03-01T12:31:00.133Z",
                     *           "latitude": 37.8044,
                     *           "longitude": -122.2712
                     *         },
                     *         "status": "SCHEDULED"
                     *       },
                     *       "deliveryAddress": {
                     *         "city": "Oakland",
                     *         "state": "CA",
                     *         "street1": "9 Amazing View",
                     *         "zip": "94612"
                     *       },
                     *       "deliveryTime": "2026-03-01T13:15:00.000Z",
                     *       "lineItems": [
                     *         {
                     *           "menuItemId": "1",
                     *           "name": "Chicken Vindaloo",
                     *           "price": "12.34",
                     *           "quantity": 1
                     *         }
                     *       ],
                     *       "orderCreationTime": "2026-03-01T12:00:00.007Z",
                     *       "orderId": "99",
                     *       "orderTotal": "35.29",
                     *       "payment": {
                     *         "amount": 3529,
                     *         "chargeId": "ch_3Q7y",
                     *         "currency": "USD",
                     *         "paymentIntentId": "pi_3Q7y",
                     *         "status": "CHARGED"
                     *       },
                     *       "restaurantId": 1,
                     *       "restaurantName": "Ajanta",
                     *       "status": "APPROVED",
                     *       "ticket": {
                     *         "readyBy": "2026-03-01T12:30:00.000Z",
                     *         "status": "ACCEPTED"
                     *       },
                     *       "timeline": [
                     *         {
                     *           "at": "2026-03-01T12:00:00.007Z",
                     *           "eventId": "0000019ca9450a07-0242ac1200080001",
                     *           "type": "OrderCreated"
                     *         },
                     *         {
                     *           "at": "2026-03-01T12:02:00.056Z",
                     *           "eventId": "0000019ca946dee8-0242ac1200080008",
                     *           "type": "OrderAuthorized"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["Order"];
                };
            };
            /** @description The answer has not changed since the one named in If-None-Match */
            304: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    ETag: components["headers"]["ETag"];
                    Vary: components["headers"]["Vary"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Invalid parameters */
            400: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "detail": "Correct the mistakes listed in `errors`, then send the request again.",
                     *       "errors": [
                     *         {
                     *           "detail": "must be a whole number from 1 to 100",
                     *           "in": "query",
                     *           "parameter": "pageSize"
                     *         }
                     *       ],
                     *       "requestId": "Zr1hOh5PoAMEJ9g=",
                     *       "status": 400,
                     *       "title": "Invalid parameters",
                     *       "type": "urn:ftgo:order-history:problem:invalid-parameters"
                     *     }
                     */
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "message": "Unauthorized"
                     *     }
                     */
                    "application/json": components["schemas"]["GatewayError"];
                    /**
                     * @example {
                     *       "detail": "Send a valid token: `Authorization: Bearer …`.",
                     *       "requestId": "Zr1hOh5PoAMEJ9g=",
                     *       "status": 401,
                     *       "title": "Not authenticated",
                     *       "type": "urn:ftgo:order-history:problem:unauthenticated"
                     *     }
                     */
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "detail": "You can see only your own orders. To see other orders, the token needs the scope orders:read-any.",
                     *       "requestId": "Zr1hOh5PoAMEJ9g=",
                     *       "status": 403,
                     *       "title": "Not allowed",
                     *       "type": "urn:ftgo:order-history:problem:forbidden"
                     *     }
                     */
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Order not found */
            404: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "detail": "No order with this id exists, or it belongs to another consumer. A new order may take a moment to appear: send its Consistency-Token to wait for it.",
                     *       "requestId": "Zr1hOh5PoAMEJ9g=",
                     *       "status": 404,
                     *       "title": "Order not found",
                     *       "type": "urn:ftgo:order-history:problem:order-not-found"
                     *     }
                     */
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Method not allowed */
            405: {
                headers: {
                    Allow: components["headers"]["Allow"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "detail": "Use a method listed in the Allow header.",
                     *       "requestId": "Zr1hOh5PoAMEJ9g=",
                     *       "status": 405,
                     *       "title": "Method not allowed",
                     *       "type": "urn:ftgo:order-history:problem:method-not-allowed"
                     *     }
                     */
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Event not processed yet */
            412: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "detail": "The event of the Consistency-Token is not processed yet. Retry, or send `Prefer: wait=5`.",
                     *       "requestId": "Zr1hOh5PoAMEJ9g=",
                     *       "status": 412,
                     *       "title": "Event not processed yet",
                     *       "type": "urn:ftgo:order-history:problem:not-yet-seen"
                     *     }
                     */
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error */
            500: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "message": "Internal Server Error"
                     *     }
                     */
                    "application/json": components["schemas"]["GatewayError"];
                    /**
                     * @example {
                     *       "detail": "Internal error. If it persists, contact us with the request id.",
                     *       "requestId": "Zr1hOh5PoAMEJ9g=",
                     *       "status": 500,
                     *       "title": "Internal error",
                     *       "type": "urn:ftgo:order-history:problem:internal-error"
                     *     }
                     */
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable */
            503: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "message": "Service Unavailable"
                     *     }
                     */
                    "application/json": components["schemas"]["GatewayError"];
                    /**
                     * @example {
                     *       "detail": "Wait as many seconds as Retry-After says, then retry.",
                     *       "requestId": "Zr1hOh5PoAMEJ9g=",
                     *       "status": 503,
                     *       "title": "Temporarily unavailable",
                     *       "type": "urn:ftgo:order-history:problem:unavailable"
                     *     }
                     */
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    findOrderOptions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The order's id. Write a slash in it as %2F.
                 * @example 99
                 */
                orderId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description No content */
            204: {
                headers: {
                    Allow: components["headers"]["Allow"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Invalid parameters */
            400: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "detail": "Correct the mistakes listed in `errors`, then send the request again.",
                     *       "errors": [
                     *         {
                     *           "detail": "must be a whole number from 1 to 100",
                     *           "in": "query",
                     *           "parameter": "pageSize"
                     *         }
                     *       ],
                     *       "requestId": "Zr1hOh5PoAMEJ9g=",
                     *       "status": 400,
                     *       "title": "Invalid parameters",
                     *       "type": "urn:ftgo:order-history:problem:invalid-parameters"
                     *     }
                     */
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    findOrderHead: {
        parameters: {
            query?: never;
            header?: {
                /** @description The token of a command's response. The answer then includes the command's event; if it is not processed yet: 412. */
                "Consistency-Token"?: components["parameters"]["ConsistencyToken"];
                /**
                 * @description The ETag of the answer that you have: 304 if it is still current.
                 * @example W/"9b2cf535f27731c974343645a3985328"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /**
                 * @description `wait=N`: wait up to N seconds for the event of the Consistency-Token. The largest N is 10; the operator may set a lower limit.
                 * @example wait=5
                 */
                Prefer?: components["parameters"]["Prefer"];
            };
            path: {
                /**
                 * @description The order's id. Write a slash in it as %2F.
                 * @example 99
                 */
                orderId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The order */
            200: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    ETag: components["headers"]["ETag"];
                    Vary: components["headers"]["Vary"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The answer has not changed since the one named in If-None-Match */
            304: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    ETag: components["headers"]["ETag"];
                    Vary: components["headers"]["Vary"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Invalid parameters */
            400: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not allowed */
            403: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Order not found */
            404: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Method not allowed */
            405: {
                headers: {
                    Allow: components["headers"]["Allow"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Event not processed yet */
            412: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Internal error */
            500: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Temporarily unavailable */
            503: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
}
