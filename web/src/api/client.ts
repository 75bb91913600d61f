// The two APIs as a browser uses them. All addresses are relative: the page and the APIs have one base.
import { type Answer, ENDED, NO_ANSWER, readAnswer } from "./answer";
import type { NewPaymentIntent, Order, OrderHistory, PaymentIntent } from "./schema";

/** Whose orders, and which of them. */
export interface HistoryQuery {
  /** A consumer leaves it out: the token says it. */
  consumerId?: string;
  status?: string;
  keywords?: string;
  /** RFC 3339, or milliseconds since 1970. It is never left out: the server's own default moves, and no ETag would hold. */
  since: string;
  startKey?: string;
}

/** Supplies the token of a request, and learns that the server did not accept it. */
export interface Credentials {
  /** Rejects with `SessionEnded` if there is none any more: the request is not sent. */
  token(): Promise<string | undefined>;
  /** Whether there is a new token, so that the request may be sent again. Rejects if there may be one later. */
  refused(): Promise<boolean>;
  /** The new token was refused too. */
  end(): void;
}

/** There is no token any more. */
export class SessionEnded extends Error {}

export interface Conditions {
  /** The ETag of what the page shows. */
  ifNoneMatch?: string | undefined;
  /** Of a command's answer: the view must have seen its event. */
  consistencyToken?: string | undefined;
  signal?: AbortSignal | undefined;
}

export class Client {
  constructor(
    private readonly credentials: Credentials,
    private readonly send: typeof fetch = (input, init) => fetch(input, init),
  ) {}

  orders(query: HistoryQuery, conditions: Conditions = {}): Promise<Answer<OrderHistory>> {
    const parameters = new URLSearchParams(Object.entries(query).filter(([, value]) => value));
    return this.get(`orders?${parameters}`, conditions);
  }

  order(orderId: string, conditions: Conditions = {}): Promise<Answer<Order>> {
    return this.get(`orders/${encodeURIComponent(orderId)}`, conditions);
  }

  paymentsHealth(): Promise<Answer<{ status: string }>> {
    return this.get("payments/health", {});
  }

  intent(id: string): Promise<Answer<PaymentIntent>> {
    return this.get(`payment-intents/${encodeURIComponent(id)}`, {});
  }

  createIntent(key: string, intent: NewPaymentIntent): Promise<Answer<PaymentIntent>> {
    return this.command("POST", "payment-intents", key, undefined, intent);
  }

  changeAmount(key: string, id: string, etag: string, amount: number): Promise<Answer<PaymentIntent>> {
    return this.command("PATCH", `payment-intents/${encodeURIComponent(id)}`, key, etag, { amount });
  }

  charge(key: string, id: string, etag: string): Promise<Answer<PaymentIntent>> {
    return this.command("POST", `payment-intents/${encodeURIComponent(id)}/charge`, key, etag);
  }

  private get<T>(path: string, { ifNoneMatch, consistencyToken, signal }: Conditions): Promise<Answer<T>> {
    const headers = new Headers();
    if (ifNoneMatch) headers.set("If-None-Match", ifNoneMatch);
    if (consistencyToken) {
      headers.set("Consistency-Token", consistencyToken);
      headers.set("Prefer", "wait=5");
    }
    return this.exchange(path, { method: "GET", headers, signal: signal ?? null });
  }

  private command<T>(method: string, path: string, key: string, etag?: string, body?: unknown): Promise<Answer<T>> {
    const headers = new Headers({ "Idempotency-Key": `"${key}"` });
    if (etag) headers.set("If-Match", etag);
    if (body !== undefined) headers.set("Content-Type", "application/json");
    return this.exchange(path, { method, headers, body: body === undefined ? null : JSON.stringify(body) });
  }

  /** `no-store`: the page keeps the answers and their ETags itself, so the browser's cache must not answer for it. */
  private async exchange<T>(path: string, request: RequestInit & { headers: Headers }): Promise<Answer<T>> {
    try {
      let response = await this.authorized(path, request);
      if (response.status === 401 && (await this.credentials.refused())) {
        response = await this.authorized(path, request);
        if (response.status === 401) this.credentials.end();
      }
      return await readAnswer<T>(response);
    } catch (error) {
      return { kind: "problem", problem: error instanceof SessionEnded ? ENDED : NO_ANSWER };
    }
  }

  private async authorized(path: string, request: RequestInit & { headers: Headers }): Promise<Response> {
    const token = await this.credentials.token();
    if (token) request.headers.set("Authorization", `Bearer ${token}`);
    return this.send(path, { ...request, cache: "no-store" });
  }
}
