// The result of a request.

/** Why a request failed: a problem document (RFC 9457), or a substitute if the response had none. */
export interface Problem {
  /** Absent in a response of API Gateway itself, and if there was no response. */
  type?: string;
  title: string;
  detail?: string;
  /** The HTTP status, 0 if there was no response. */
  status: number;
  /** The request's id in the service's logs. */
  requestId?: string;
  errors?: { parameter: string; detail: string }[];
  /** With `order-has-open-intent`. */
  paymentIntentId?: string;
  /** With `wrong-state`. */
  state?: string;
  /** Seconds after which the client may retry. */
  retryAfter?: number;
}

export type ApiResponse<T> =
  | { kind: "found"; status: number; value: T; etag?: string; consistencyToken?: string }
  | { kind: "unchanged" }
  | { kind: "problem"; problem: Problem };

export const NO_RESPONSE: Problem = { title: "No response", status: 0 };
export const ENDED: Problem = { title: "Not signed in", status: 401 };

/** Rejects only if the connection closes before the end of the response. */
export async function readResponse<T>(response: Response): Promise<ApiResponse<T>> {
  if (response.status === 304) return { kind: "unchanged" };
  const body = await readJson(response);
  if (!response.ok) return { kind: "problem", problem: readProblem(response, body) };
  if (body === undefined)
    return { kind: "problem", problem: { title: "Unreadable response", status: response.status } };
  const etag = response.headers.get("etag");
  const consistencyToken = response.headers.get("consistency-token");
  return {
    kind: "found",
    status: response.status,
    value: body as T,
    ...(etag ? { etag } : {}),
    ...(consistencyToken ? { consistencyToken } : {}),
  };
}

async function readJson(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function readProblem(response: Response, body: unknown): Problem {
  const isProblem = response.headers.get("content-type")?.startsWith("application/problem+json");
  const given: Partial<Problem> = isProblem && typeof body === "object" && body !== null ? body : {};
  const requestId = given.requestId ?? response.headers.get("apigw-requestid");
  const retryAfter = Number.parseInt(response.headers.get("retry-after") ?? "", 10);
  return {
    ...given,
    title: given.title ?? `HTTP ${response.status}`,
    status: response.status,
    ...(requestId ? { requestId } : {}),
    ...(retryAfter >= 0 ? { retryAfter } : {}),
  };
}
