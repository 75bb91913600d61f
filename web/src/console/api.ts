// The console's API of `make run`: its types, and a client that turns every failure into a sentence.

export interface State {
  now: string;
  queues: Queue[];
  functions: LambdaFunction[];
  topic: Topic;
  outbox: Outbox;
  archive: Archive;
  /** Newest first. */
  orders: OrderLine[];
}

export interface Queue {
  name: string;
  function: string;
  waiting: number;
  inFlight: number;
  deadLetterQueue: string;
  deadLetters: number;
}

export interface LambdaFunction {
  name: string;
  processes: number;
  invocations: number;
  failures: number;
  lastLine?: string;
  lastLineAt?: string;
}

export interface Topic {
  arn: string;
  published: number;
  subscriptions: number;
  /** Newest first. */
  recent: PublishedEvent[];
}

export interface PublishedEvent {
  at: string;
  eventType: string;
  orderId?: string;
  eventId?: string;
}

export interface Outbox {
  unpublished: number;
  oldestUnpublishedAt?: string;
}

export interface Archive {
  files: number;
  bytes: number;
  newest?: string;
}

export interface OrderLine {
  orderId: string;
  consumerId?: string;
  status?: string;
}

export interface DeadLetter {
  messageId: string;
  sentAt: string;
  receiveCount: number;
  body: string;
  reason?: string;
  detail?: string;
}

export interface NextEvent {
  eventType: string;
  text: string;
}

export interface Shuffle {
  id: string;
  seed: number;
  running: boolean;
  /** Whether both items are equal; known at the end. */
  equal?: boolean;
  error?: string;
  /** In the sequence in which the events happened. */
  story: StoryEvent[];
  lanes: [Lane, Lane];
}

export interface StoryEvent {
  eventType: string;
  aggregate: Aggregate;
  pieces: string[];
}

export type Aggregate = "Order" | "Ticket" | "Delivery" | "PaymentIntent";

export interface Lane {
  name: "in order" | "shuffled";
  orderId: string;
  /** In the sequence in which they are sent. */
  messages: LaneMessage[];
  digest?: string;
  pieces: Piece[];
}

export interface Piece {
  piece: string;
  /** Index in the story of the event that wrote the value; for a set, the highest one. */
  event?: number;
  value: string;
}

export interface LaneMessage {
  /** Index in the story. */
  event: number;
  /** 2 is the duplicate. */
  copy: 1 | 2;
  /** killed: the function was killed while it processed the message, and the queue delivers the message again. */
  state: "waiting" | "sent" | "killed" | "done";
  /** How often a function was killed while it processed the message. */
  kills?: number;
  outcomes?: { piece: string; outcome: Outcome }[];
}

export type Outcome = "written" | "late" | "no news";

/** The API rejected a request; the message is the API's. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** No response, or one that is not the console's. */
export class Unreachable extends Error {
  constructor() {
    super("The system does not answer.");
  }
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** A request that takes longer than this counts as no response. */
const PATIENCE_MS = 15_000;

export class Api {
  constructor(
    private readonly base: string,
    private readonly fetch: Fetch = (url, init) => globalThis.fetch(url, init),
  ) {}

  state(): Promise<State> {
    return this.get("state");
  }

  async log(name: string, lines: number): Promise<string[]> {
    const log = await this.get<{ lines: string[] }>(`functions/${encodeURIComponent(name)}/log?lines=${lines}`);
    return log.lines;
  }

  kill(name: string): Promise<{ killed: number }> {
    return this.post(`functions/${encodeURIComponent(name)}/kill`, {});
  }

  async deadLetters(queue: string): Promise<DeadLetter[]> {
    const letters = await this.get<{ messages: DeadLetter[] }>(`dead-letters/${encodeURIComponent(queue)}`);
    return letters.messages;
  }

  redrive(queue: string): Promise<{ moved: number }> {
    return this.post(`dead-letters/${encodeURIComponent(queue)}/redrive`, {});
  }

  async next(orderId: string): Promise<NextEvent[]> {
    const next = await this.get<{ events: NextEvent[] }>(`orders/${encodeURIComponent(orderId)}/next`);
    return next.events;
  }

  publish(orderId: string, eventType: string): Promise<{ eventId: string }> {
    return this.post(`orders/${encodeURIComponent(orderId)}/events`, { eventType });
  }

  newOrder(): Promise<{ orderId: string }> {
    return this.post("orders", {});
  }

  startShuffle(seed?: number): Promise<{ id: string }> {
    return this.post("shuffles", seed === undefined ? {} : { seed });
  }

  shuffle(id: string): Promise<Shuffle> {
    return this.get(`shuffles/${encodeURIComponent(id)}`);
  }

  private get<T>(path: string): Promise<T> {
    return this.send(path, { method: "GET" });
  }

  private post<T>(path: string, body: unknown): Promise<T> {
    return this.send(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  }

  private async send<T>(path: string, init: RequestInit): Promise<T> {
    let response: Response;
    let text: string;
    try {
      response = await this.fetch(this.base + path, {
        ...init,
        cache: "no-store",
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
      text = await response.text();
    } catch {
      throw new Unreachable();
    }
    const body = readJson(text);
    if (response.ok && body !== undefined) return body as T;
    throw new Refused(response.status, messageIn(body) ?? `The system answered with status ${response.status}.`);
  }
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function messageIn(body: unknown): string | undefined {
  if (typeof body !== "object" || body === null || !("message" in body)) return undefined;
  return typeof body.message === "string" && body.message !== "" ? body.message : undefined;
}
