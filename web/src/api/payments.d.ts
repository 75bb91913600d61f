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
         * Create a payment intent for an order
         * @description An order has at most one open payment intent and is paid at most once. A consumer can pay only as themselves. A caller with the scope `payments:write-any` sends `consumerId`.
         */
        post: operations["createPaymentIntent"];
        delete?: never;
        /** The allowed methods */
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
         * Get a payment intent
         * @description Payment intents of other consumers are reported as not found.
         */
        get: operations["findPaymentIntent"];
        put?: never;
        post?: never;
        delete?: never;
        /** The allowed methods */
        options: operations["paymentIntentOptions"];
        /**
         * The headers of GET
         * @description Payment intents of other consumers are reported as not found.
         */
        head: operations["findPaymentIntentHead"];
        /**
         * Change the amount
         * @description Allowed only in the state `CREATED`. The amount cannot change after a charge was requested.
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
         * Charge the stored amount
         * @description A payment intent is charged at most once. 202: the charge is requested; the result follows, so read the payment intent again. 200: the payment gateway has decided; see `state`. Send the `Consistency-Token` to `GET /orders/{orderId}` to read an order that includes this charge.
         */
        post: operations["chargePaymentIntent"];
        delete?: never;
        /** The allowed methods */
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
        /** Check whether the API works */
        get: operations["paymentsHealth"];
        put?: never;
        post?: never;
        delete?: never;
        /** The allowed methods */
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
        /** The allowed methods */
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
        /** @description An error that API Gateway itself returns, without the function. */
        GatewayError: {
            message: string;
        };
        /** @description One mistake in a request. */
        Mistake: {
            /** @description What to change. */
            detail: string;
            /**
             * @description Where the parameter is: `body`, `query`, `path` or `header`.
             * @enum {string}
             */
            in: "body" | "query" | "path" | "header";
            /** @description The parameter's name. */
            parameter: string;
        };
        NewAmount: {
            /** @description The amount in the currency's minor units, such as cents. */
            amount: number;
        };
        NewPaymentIntent: {
            /** @description The amount in the currency's minor units, such as cents. */
            amount: number;
            /** @description The consumer who pays. Required if the token does not name a consumer. */
            consumerId?: string;
            /** @description The currency (ISO 4217). */
            currency: string;
            /** @description The order to pay for. */
            orderId: string;
        };
        /** @description A payment intent. Unknown members are left out. */
        PaymentIntent: {
            /**
             * Format: int64
             * @description The amount in the currency's minor units, such as cents.
             */
            amount: number;
            /** @description The payment gateway's id of the charge. */
            chargeId?: string;
            /** @description The consumer who pays. */
            consumerId: string;
            /**
             * Format: date-time
             * @description The time of creation (RFC 3339, UTC).
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
            /** @description The id of the intent, a UUID. */
            paymentIntentId: string;
            /**
             * @description The state of the intent. `CHARGED` and `CHARGE_FAILED` are final.
             * @enum {string}
             */
            state: "CREATED" | "CHARGE_REQUESTED" | "CHARGED" | "CHARGE_FAILED";
            /**
             * Format: date-time
             * @description The time of the last change (RFC 3339, UTC).
             */
            updatedAt: string;
            /**
             * Format: uint64
             * @description 1 for a new intent; each change adds one. The `ETag` is the version in quotes.
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
             * @description With `order-has-open-intent`: the open payment intent of the order.
             */
            paymentIntentId?: string;
            /** @description Names this request in our logs. */
            requestId: string;
            /**
             * @description With `wrong-state`: the state of the payment intent.
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
         * @description A new key for each command, and the same key for each repetition: 1 to 255 printable ASCII characters in double quotes, or a token without quotes.
         * @example "8e03978e-40d5-43e8-bc93-6894a57f9324"
         */
        IdempotencyKey: string;
        /**
         * @description The ETag of the version that you have read: 412 if the payment intent has another version now.
         * @example "1"
         */
        IfMatch: string;
        /**
         * @description The ETag of the version that you have: 304 if it is still the current one.
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
         * @description The allowed methods.
         * @example GET, HEAD, PATCH, OPTIONS
         */
        Allow: string;
        /**
         * @description Who may cache the answer, and how.
         * @example no-store
         */
        "Cache-Control": string;
        /**
         * @description Send it to GET /orders/{orderId} to read an order that includes the event.
         * @example MSBQYXltZW50SW50ZW50Q2hhcmdlUmVxdWVzdGVkIDAwMDAwMTlkYTk0NTBhMGUtMDI0MmFjMTIwMDA4MDAwMiA5OQ
         */
        "Consistency-Token": string;
        /**
         * @description The version, for If-Match and If-None-Match.
         * @example "2"
         */
        ETag: string;
        /**
         * @description `true`: a command with the same key was processed before; this is its answer.
         * @example true
         */
        "Idempotent-Replayed": string;
        /**
         * @description The path of the payment intent.
         * @example /payment-intents/3f2b8c1e-5a47-4d0e-9c6b-7e1f0a9d2c35
         */
        Location: string;
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
    createPaymentIntent: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description A new key for each command, and the same key for each repetition: 1 to 255 printable ASCII characters in double quotes, or a token without quotes.
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
            /** @description Resource not found */
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
            /** @description Request in progress; or: Conflict; or: The order has an open payment intent; or: The order is already paid */
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
                 * @description The ETag of the version that you have: 304 if it is still the current one.
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
            /** @description The payment intent still has the version in If-None-Match */
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
            /** @description Payment intent not found */
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
                 * @description The ETag of the version that you have: 304 if it is still the current one.
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
            /** @description The payment intent still has the version in If-None-Match */
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
            /** @description Payment intent not found */
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
                 * @description A new key for each command, and the same key for each repetition: 1 to 255 printable ASCII characters in double quotes, or a token without quotes.
                 * @example "8e03978e-40d5-43e8-bc93-6894a57f9324"
                 */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
                /**
                 * @description The ETag of the version that you have read: 412 if the payment intent has another version now.
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
            /** @description Resource not found; or: Payment intent not found */
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
                 * @description A new key for each command, and the same key for each repetition: 1 to 255 printable ASCII characters in double quotes, or a token without quotes.
                 * @example "8e03978e-40d5-43e8-bc93-6894a57f9324"
                 */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
                /**
                 * @description The ETag of the version that you have read: 412 if the payment intent has another version now.
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
            /** @description Resource not found; or: Payment intent not found */
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
