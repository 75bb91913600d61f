// Made by `make generated` from crates/payments/payment-api/openapi.json. Changes here are lost.

export interface paths {
    "/payment-intents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make a payment intent for an order
         * @description An order has at most one open payment intent, and is paid once. A consumer pays for themselves; a token with the scope `payments:write-any` names the consumer.
         */
        post: operations["createPaymentIntent"];
        delete?: never;
        /** The methods there are */
        options: operations["createPaymentIntentOptions"];
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/payment-intents/{paymentIntentId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A payment intent
         * @description A payment intent of another consumer is the same as one that does not exist.
         */
        get: operations["findPaymentIntent"];
        put?: never;
        post?: never;
        delete?: never;
        /** The methods there are */
        options: operations["paymentIntentOptions"];
        /**
         * The headers of GET
         * @description A payment intent of another consumer is the same as one that does not exist.
         */
        head: operations["findPaymentIntentHead"];
        /**
         * Change the amount
         * @description Allowed in state `CREATED` only: once a charge is requested, the amount is fixed.
         */
        patch: operations["changeAmount"];
        trace?: never;
    };
    "/payment-intents/{paymentIntentId}/charge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Charge what is stored
         * @description A payment intent is charged once. 202: the charge is requested, and the result comes by events. 200: the payment gateway has decided; see `state`. The `Consistency-Token` makes `GET /orders/{orderId}` wait for it.
         */
        post: operations["chargePaymentIntent"];
        delete?: never;
        /** The methods there are */
        options: operations["chargePaymentIntentOptions"];
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/payments/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the API works */
        get: operations["paymentsHealth"];
        put?: never;
        post?: never;
        delete?: never;
        /** The methods there are */
        options: operations["healthOptions"];
        /** The headers of GET */
        head: operations["paymentsHealthHead"];
        patch?: never;
        trace?: never;
    };
    "/payments/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This document */
        get: operations["paymentsOpenapi"];
        put?: never;
        post?: never;
        delete?: never;
        /** The methods there are */
        options: operations["openapiOptions"];
        /** The headers of GET */
        head: operations["paymentsOpenapiHead"];
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description What API Gateway itself answers, before or instead of the function. */
        GatewayError: {
            message: string;
        };
        /** @description One mistake in a request. */
        Mistake: {
            /** @description What to change. */
            detail: string;
            /**
             * @description Where the parameter stands: `body`, `query`, `path` or `header`.
             * @enum {string}
             */
            in: "body" | "query" | "path" | "header";
            /** @description The parameter's name. */
            parameter: string;
        };
        NewAmount: {
            /** @description How much, in the currency's minor units, such as cents. */
            amount: number;
        };
        NewPaymentIntent: {
            /** @description How much, in the currency's minor units, such as cents. */
            amount: number;
            /** @description Who pays. It may be left out if the token names a consumer. */
            consumerId?: string;
            /** @description The currency (ISO 4217). */
            currency: string;
            /** @description The order to pay for. */
            orderId: string;
        };
        /** @description A payment intent. What is not known is left out. */
        PaymentIntent: {
            /**
             * Format: int64
             * @description How much, in the currency's minor units, such as cents.
             */
            amount: number;
            /** @description The payment gateway's name for the charge. */
            chargeId?: string;
            /** @description The consumer who pays. */
            consumerId: string;
            /**
             * Format: date-time
             * @description When it was created: RFC 3339 in UTC.
             */
            createdAt: string;
            /** @description The currency (ISO 4217). */
            currency: string;
            /** @description Why the charge failed, for programs. */
            errorCode?: string;
            /** @description Why the charge failed, for people. */
            errorMessage?: string;
            /** @description The order paid for. */
            orderId: string;
            /** @description Names the intent: a UUID. */
            paymentIntentId: string;
            /**
             * @description Where the intent is in its life. `CHARGED` and `CHARGE_FAILED` are final.
             * @enum {string}
             */
            state: "CREATED" | "CHARGE_REQUESTED" | "CHARGED" | "CHARGE_FAILED";
            /**
             * Format: date-time
             * @description When it last changed: RFC 3339 in UTC.
             */
            updatedAt: string;
            /**
             * Format: uint64
             * @description 1 when it is created, and one more with every change: the `ETag` without its quotes.
             */
            version: number;
        };
        /** @description A problem document (RFC 9457). */
        Problem: {
            /** @description What to do about it. */
            detail: string;
            /** @description Every mistake in the request's parameters; left out if that is not the problem. */
            errors?: components["schemas"]["Mistake"][];
            /**
             * Format: uuid
             * @description With `order-has-open-intent`: the payment intent that the order has.
             */
            paymentIntentId?: string;
            /** @description Names this request in our logs. */
            requestId: string;
            /**
             * @description With `wrong-state`: the state that the payment intent is in.
             * @enum {string}
             */
            state?: "CREATED" | "CHARGE_REQUESTED" | "CHARGED" | "CHARGE_FAILED";
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
            type: "urn:ftgo:payments:problem:invalid-request" | "urn:ftgo:payments:problem:idempotency-key-missing" | "urn:ftgo:payments:problem:idempotency-key-invalid" | "urn:ftgo:payments:problem:unauthenticated" | "urn:ftgo:payments:problem:forbidden" | "urn:ftgo:payments:problem:method-not-allowed" | "urn:ftgo:payments:problem:idempotency-key-in-progress" | "urn:ftgo:payments:problem:conflict" | "urn:ftgo:payments:problem:idempotency-key-reused" | "urn:ftgo:payments:problem:internal-error" | "urn:ftgo:payments:problem:unavailable" | "urn:ftgo:payments:problem:route-not-found" | "urn:ftgo:payments:problem:payment-intent-not-found" | "urn:ftgo:payments:problem:order-has-open-intent" | "urn:ftgo:payments:problem:order-already-paid" | "urn:ftgo:payments:problem:wrong-state" | "urn:ftgo:payments:problem:version-mismatch";
        };
    };
    responses: never;
    parameters: {
        /**
         * @description A new key for each command, the same key for each repetition: a string of 1 to 255 printable ASCII characters in double quotes, or a bare token.
         * @example "8e03978e-40d5-43e8-bc93-6894a57f9324"
         */
        IdempotencyKey: string;
        /**
         * @description The ETag that you have decided on: 412 if the payment intent is in another version.
         * @example "1"
         */
        IfMatch: string;
        /**
         * @description The ETag of what you have: 304 if it still holds.
         * @example "1"
         */
        IfNoneMatch: string;
        /**
         * @description The payment intent's id.
         * @example 3f2b8c1e-5a47-4d0e-9c6b-7e1f0a9d2c35
         */
        PaymentIntentId: string;
    };
    requestBodies: never;
    headers: {
        /**
         * @description The methods there are.
         * @example GET, HEAD, PATCH, OPTIONS
         */
        Allow: string;
        /**
         * @description Who may keep the answer, and how.
         * @example no-store
         */
        "Cache-Control": string;
        /**
         * @description Give it to GET /orders/{orderId}, which then shows an order that has seen the event.
         * @example MSBQYXltZW50SW50ZW50Q2hhcmdlUmVxdWVzdGVkIDAwMDAwMTlkYTk0NTBhMGUtMDI0MmFjMTIwMDA4MDAwMiA5OQ
         */
        "Consistency-Token": string;
        /**
         * @description The version, for If-Match and If-None-Match.
         * @example "2"
         */
        ETag: string;
        /**
         * @description `true`: the command was carried out before, under the same key, and this is its answer.
         * @example true
         */
        "Idempotent-Replayed": string;
        /**
         * @description Where the payment intent is.
         * @example /payment-intents/3f2b8c1e-5a47-4d0e-9c6b-7e1f0a9d2c35
         */
        Location: string;
        /**
         * @description Retry after so many seconds.
         * @example 1
         */
        "Retry-After": string;
        /**
         * @description The answer depends on who asks.
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
    createPaymentIntent: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description A new key for each command, the same key for each repetition: a string of 1 to 255 printable ASCII characters in double quotes, or a bare token.
                 * @example "8e03978e-40d5-43e8-bc93-6894a57f9324"
                 */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "amount": 6063,
                 *       "currency": "USD",
                 *       "orderId": "99"
                 *     }
                 */
                "application/json": components["schemas"]["NewPaymentIntent"];
            };
        };
        responses: {
            /** @description The payment intent */
            201: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    ETag: components["headers"]["ETag"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "amount": 6063,
                     *       "consumerId": "1511300065921",
                     *       "createdAt": "2026-11-17T12:00:00.007Z",
                     *       "currency": "USD",
                     *       "orderId": "99",
                     *       "paymentIntentId": "3f2b8c1e-5a47-4d0e-9c6b-7e1f0a9d2c35",
                     *       "state": "CREATED",
                     *       "updatedAt": "2026-11-17T12:00:01.133Z",
                     *       "version": 1
                     *     }
                     */
                    "application/json": components["schemas"]["PaymentIntent"];
                };
            };
            /** @description Invalid request; or: Idempotency-Key missing; or: Idempotency-Key invalid */
            400: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
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
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description No such resource */
            404: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
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
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request in progress; or: Conflict; or: The order has an open payment intent; or: The order is paid */
            409: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Idempotency-Key reused */
            422: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
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
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createPaymentIntentOptions: {
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
    findPaymentIntent: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The ETag of what you have: 304 if it still holds.
                 * @example "1"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /**
                 * @description The payment intent's id.
                 * @example 3f2b8c1e-5a47-4d0e-9c6b-7e1f0a9d2c35
                 */
                paymentIntentId: components["parameters"]["PaymentIntentId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The payment intent */
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
                     *       "amount": 6063,
                     *       "chargeId": "ch_3Q7y",
                     *       "consumerId": "1511300065921",
                     *       "createdAt": "2026-11-17T12:00:00.007Z",
                     *       "currency": "USD",
                     *       "orderId": "99",
                     *       "paymentIntentId": "3f2b8c1e-5a47-4d0e-9c6b-7e1f0a9d2c35",
                     *       "state": "CHARGED",
                     *       "updatedAt": "2026-11-17T12:00:01.133Z",
                     *       "version": 3
                     *     }
                     */
                    "application/json": components["schemas"]["PaymentIntent"];
                };
            };
            /** @description It is still in the version that If-None-Match names */
            304: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    ETag: components["headers"]["ETag"];
                    Vary: components["headers"]["Vary"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Invalid request */
            400: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
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
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description No such payment intent */
            404: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
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
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    paymentIntentOptions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The payment intent's id.
                 * @example 3f2b8c1e-5a47-4d0e-9c6b-7e1f0a9d2c35
                 */
                paymentIntentId: components["parameters"]["PaymentIntentId"];
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
            /** @description Invalid request */
            400: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    findPaymentIntentHead: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The ETag of what you have: 304 if it still holds.
                 * @example "1"
                 */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /**
                 * @description The payment intent's id.
                 * @example 3f2b8c1e-5a47-4d0e-9c6b-7e1f0a9d2c35
                 */
                paymentIntentId: components["parameters"]["PaymentIntentId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The payment intent */
            200: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    ETag: components["headers"]["ETag"];
                    Vary: components["headers"]["Vary"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It is still in the version that If-None-Match names */
            304: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    ETag: components["headers"]["ETag"];
                    Vary: components["headers"]["Vary"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Invalid request */
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
            /** @description No such payment intent */
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
    changeAmount: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description A new key for each command, the same key for each repetition: a string of 1 to 255 printable ASCII characters in double quotes, or a bare token.
                 * @example "8e03978e-40d5-43e8-bc93-6894a57f9324"
                 */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
                /**
                 * @description The ETag that you have decided on: 412 if the payment intent is in another version.
                 * @example "1"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                /**
                 * @description The payment intent's id.
                 * @example 3f2b8c1e-5a47-4d0e-9c6b-7e1f0a9d2c35
                 */
                paymentIntentId: components["parameters"]["PaymentIntentId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "amount": 7000
                 *     }
                 */
                "application/json": components["schemas"]["NewAmount"];
            };
        };
        responses: {
            /** @description The payment intent */
            200: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    ETag: components["headers"]["ETag"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "amount": 6063,
                     *       "consumerId": "1511300065921",
                     *       "createdAt": "2026-11-17T12:00:00.007Z",
                     *       "currency": "USD",
                     *       "orderId": "99",
                     *       "paymentIntentId": "3f2b8c1e-5a47-4d0e-9c6b-7e1f0a9d2c35",
                     *       "state": "CREATED",
                     *       "updatedAt": "2026-11-17T12:00:01.133Z",
                     *       "version": 2
                     *     }
                     */
                    "application/json": components["schemas"]["PaymentIntent"];
                };
            };
            /** @description Invalid request; or: Idempotency-Key missing; or: Idempotency-Key invalid */
            400: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
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
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description No such resource; or: No such payment intent */
            404: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
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
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request in progress; or: Conflict; or: Not allowed in this state */
            409: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Version mismatch */
            412: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Idempotency-Key reused */
            422: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
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
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    chargePaymentIntent: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description A new key for each command, the same key for each repetition: a string of 1 to 255 printable ASCII characters in double quotes, or a bare token.
                 * @example "8e03978e-40d5-43e8-bc93-6894a57f9324"
                 */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
                /**
                 * @description The ETag that you have decided on: 412 if the payment intent is in another version.
                 * @example "1"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
            };
            path: {
                /**
                 * @description The payment intent's id.
                 * @example 3f2b8c1e-5a47-4d0e-9c6b-7e1f0a9d2c35
                 */
                paymentIntentId: components["parameters"]["PaymentIntentId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The payment gateway has decided */
            200: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "Consistency-Token": components["headers"]["Consistency-Token"];
                    ETag: components["headers"]["ETag"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "amount": 6063,
                     *       "chargeId": "ch_3Q7y",
                     *       "consumerId": "1511300065921",
                     *       "createdAt": "2026-11-17T12:00:00.007Z",
                     *       "currency": "USD",
                     *       "orderId": "99",
                     *       "paymentIntentId": "3f2b8c1e-5a47-4d0e-9c6b-7e1f0a9d2c35",
                     *       "state": "CHARGED",
                     *       "updatedAt": "2026-11-17T12:00:01.133Z",
                     *       "version": 3
                     *     }
                     */
                    "application/json": components["schemas"]["PaymentIntent"];
                };
            };
            /** @description The charge is requested */
            202: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "Consistency-Token": components["headers"]["Consistency-Token"];
                    ETag: components["headers"]["ETag"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "amount": 6063,
                     *       "consumerId": "1511300065921",
                     *       "createdAt": "2026-11-17T12:00:00.007Z",
                     *       "currency": "USD",
                     *       "orderId": "99",
                     *       "paymentIntentId": "3f2b8c1e-5a47-4d0e-9c6b-7e1f0a9d2c35",
                     *       "state": "CHARGE_REQUESTED",
                     *       "updatedAt": "2026-11-17T12:00:01.133Z",
                     *       "version": 2
                     *     }
                     */
                    "application/json": components["schemas"]["PaymentIntent"];
                };
            };
            /** @description Invalid request; or: Idempotency-Key missing; or: Idempotency-Key invalid */
            400: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
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
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description No such resource; or: No such payment intent */
            404: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
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
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request in progress; or: Conflict; or: Not allowed in this state */
            409: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Version mismatch */
            412: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Idempotency-Key reused */
            422: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
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
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    chargePaymentIntentOptions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The payment intent's id.
                 * @example 3f2b8c1e-5a47-4d0e-9c6b-7e1f0a9d2c35
                 */
                paymentIntentId: components["parameters"]["PaymentIntentId"];
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
            /** @description Invalid request */
            400: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    paymentsHealth: {
        parameters: {
            query?: {
                /**
                 * @description 1: also reads from the table.
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
            /** @description It works */
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
            /** @description Invalid request */
            400: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
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
    paymentsHealthHead: {
        parameters: {
            query?: {
                /**
                 * @description 1: also reads from the table.
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
            /** @description It works */
            200: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Invalid request */
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
    paymentsOpenapi: {
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
    paymentsOpenapiHead: {
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
}
