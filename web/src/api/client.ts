// The client of both APIs. All addresses are relative: the page and the APIs have the same base address.
import { type ApiResponse, ENDED, NO_RESPONSE, readResponse } from "./response";
import type { NewPaymentIntent, Order, OrderHistory, PaymentIntent } from "./schema";

/** The parameters of the list of orders. */
export interface HistoryQuery {
  /** Not set for a consumer: the token has the id. */
  consumerId?: string;
  status?: string;
  keywords?: string;
  /** RFC 3339, or milliseconds since 1970. Always set: the server's default changes with the time, and so would every ETag. */
  since: string;
  startKey?: string;
}

/** Supplies the token of a request, and is called if the server does not accept it. */
export interface Credentials {
  /** Rejects with `SessionEnded` if there is no token any more: the request is not sent. */
  token(): Promise<string | undefined>;
  /** Returns whether there is a new token, so that the request can be retried. Rejects if there may be one later. */
  refused(): Promise<boolean>;
  /** Called if the new token is not accepted either. */
  end(): void;
}

/** There is no token any more. */
export class SessionEnded extends Error {}

export interface Conditions {
  /** The ETag of what the page shows. */
  ifNoneMatch?: string | undefined;
  /** From a command's response: the view must have the command's event. */
  consistencyToken?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** The longest wait for a response, in milliseconds. API Gateway's own timeout is 30 seconds. */
const PATIENCE = 35_000;

export class Client {
  constructor(
    private readonly credentials: Credentials,
    private readonly send: typeof fetch = (input, init) => fetch(input, init),
    private readonly patience = PATIENCE,
  ) {}

  orders(query: HistoryQuery, conditions: Conditions = {}): Promise<ApiResponse<OrderHistory>> {
    const parameters = new URLSearchParams(Object.entries(query).filter(([, value]) => value));
    return this.get(`orders?${parameters}`, conditions);
  }

  order(orderId: string, conditions: Conditions = {}): Promise<ApiResponse<Order>> {
    return this.get(`orders/${encodeURIComponent(orderId)}`, conditions);
  }

  paymentsHealth(): Promise<ApiResponse<{ status: string }>> {
    return this.get("payments/health", {});
  }

  intent(id: string): Promise<ApiResponse<PaymentIntent>> {
    return this.get(`payment-intents/${encodeURIComponent(id)}`, {});
  }

  createIntent(key: string, intent: NewPaymentIntent): Promise<ApiResponse<PaymentIntent>> {
    return this.command("POST", "payment-intents", key, undefined, intent);
  }

  changeAmount(key: string, id: string, etag: string, amount: number): Promise<ApiResponse<PaymentIntent>> {
    return this.command("PATCH", `payment-intents/${encodeURIComponent(id)}`, key, etag, { amount });
  }

  charge(key: string, id: string, etag: string): Promise<ApiResponse<PaymentIntent>> {
    return this.command("POST", `payment-intents/${encodeURIComponent(id)}/charge`, key, etag);
  }

  private get<T>(path: string, { ifNoneMatch, consistencyToken, signal }: Conditions): Promise<ApiResponse<T>> {
    const headers = new Headers();
    if (ifNoneMatch) headers.set("If-None-Match", ifNoneMatch);
    if (consistencyToken) {
      headers.set("Consistency-Token", consistencyToken);
      headers.set("Prefer", "wait=5");
    }
    return this.exchange(path, { method: "GET", headers, signal: signal ?? null });
  }

  private command<T>(
    method: string,
    path: string,
    key: string,
    etag?: string,
    body?: unknown,
  ): Promise<ApiResponse<T>> {
    const headers = new Headers({ "Idempotency-Key": `"${key}"` });
    if (etag) headers.set("If-Match", etag);
    if (body !== undefined) headers.set("Content-Type", "application/json");
    return this.exchange(path, { method, headers, body: body === undefined ? null : JSON.stringify(body) });
  }

  private async exchange<T>(path: string, request: ApiRequest): Promise<ApiResponse<T>> {
    try {
      let response = await this.ask<T>(path, request);
      if (isRefused(response) && (await this.credentials.refused())) {
        response = await this.ask<T>(path, request);
        if (isRefused(response)) this.credentials.end();
      }
      return response;
    } catch (error) {
      return { kind: "problem", problem: error instanceof SessionEnded ? ENDED : NO_RESPONSE };
    }
  }

  /** `no-store`: the page stores the responses and their ETags itself, so the browser's cache must not be used. */
  private async ask<T>(path: string, { signal, ...request }: ApiRequest): Promise<ApiResponse<T>> {
    const token = await this.credentials.token();
    if (token) request.headers.set("Authorization", `Bearer ${token}`);
    // A request without a response would block its caller. The timeout covers the whole response, with its body.
    const abort = new AbortController();
    const giveUp = () => abort.abort();
    const timer = setTimeout(giveUp, this.patience);
    if (signal?.aborted) giveUp();
    signal?.addEventListener("abort", giveUp);
    try {
      return await readResponse<T>(await this.send(path, { ...request, signal: abort.signal, cache: "no-store" }));
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", giveUp);
    }
  }
}

type ApiRequest = RequestInit & { headers: Headers };

function isRefused(response: ApiResponse<unknown>): boolean {
  return response.kind === "problem" && response.problem.status === 401;
}
