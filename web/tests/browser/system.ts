// The system of `make run`, in its own process at free ports.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Publisher } from "./events";
import { eventually } from "./eventually";

const TOPIC = "arn:aws:sns:us-east-1:000000000000:domain-events";
/** https://docs.aws.amazon.com/sns/latest/api/API_PublishBatch.html */
const BATCH = 10;

export interface Charge {
  chargeId: string;
  paymentIntentId: string;
  orderId: string;
  amount: number;
  status: "succeeded" | "declined";
}

interface Settings {
  /** In seconds: when a failed message is retried. */
  visibilityTimeout?: number;
  demo?: boolean;
}

export class System implements Publisher {
  readonly url: string;
  readonly #process: ChildProcess;
  readonly #environment: Record<string, string>;
  readonly #dataDir: string;
  readonly #sns: string;
  readonly #sqs: string;
  readonly #gateway: string;

  private constructor(
    process: ChildProcess,
    environment: Record<string, string>,
    endpoints: { url: string; sns: string; sqs: string; gateway: string },
  ) {
    this.#process = process;
    this.#environment = environment;
    this.#dataDir = environment.DATA_DIR ?? "";
    this.url = endpoints.url;
    this.#sns = endpoints.sns;
    this.#sqs = endpoints.sqs;
    this.#gateway = endpoints.gateway;
  }

  static start({ visibilityTimeout = 4, demo = false }: Settings = {}): Promise<System> {
    const ports = ["HTTP_PORT", "DYNAMODB_PORT", "SQS_PORT", "SNS_PORT", "S3_PORT", "GATEWAY_PORT"];
    return System.#startWith({
      ...Object.fromEntries(ports.map(port => [port, "0"])),
      DATA_DIR: mkdtempSync(join(tmpdir(), "browser-tests-")),
      DEMO: demo ? "1" : "0",
      VISIBILITY_TIMEOUT: String(visibilityTimeout),
    });
  }

  static async #startWith(environment: Record<string, string>): Promise<System> {
    const local = process.env.LOCAL_SYSTEM ?? "../target/debug/local";
    const child = spawn(local, { env: { ...process.env, ...environment }, stdio: ["ignore", "pipe", "pipe"] });
    const errors: string[] = [];
    child.stderr.on("data", data => errors.push(String(data)));
    let url: string | undefined;
    for await (const line of createInterface(child.stdout)) {
      url ??= /^ready (\S+)/.exec(line)?.[1];
      const endpoint = (name: string) => new RegExp(`${name} at (http://127\\.0\\.0\\.1:\\d+)`).exec(line)?.[1];
      const [sns, sqs, gateway] = [endpoint("SNS"), endpoint("SQS"), endpoint("the payment gateway")];
      if (url && sns && sqs && gateway) {
        // The output must be read, or the process cannot write.
        child.stdout.resume();
        return new System(child, environment, { url, sns, sqs, gateway });
      }
    }
    throw new Error(`the local system did not start: ${errors.join("")}`);
  }

  /** Stops the system, as Ctrl-C does. Its data stays for `startAgain`. */
  async stop(): Promise<void> {
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      const ended = new Promise(resolve => this.#process.once("exit", resolve));
      this.#process.kill("SIGINT");
      await ended;
    }
  }

  /** Starts a stopped system at the same address, with the same data. */
  startAgain(): Promise<System> {
    return System.#startWith({ ...this.#environment, HTTP_PORT: new URL(this.url).port });
  }

  async end(): Promise<void> {
    await this.stop();
    rmSync(this.#dataDir, { recursive: true, force: true });
  }

  async publish(messages: readonly { eventType: string; body: string }[]): Promise<void> {
    for (let first = 0; first < messages.length; first += BATCH) {
      const form = new URLSearchParams({ Action: "PublishBatch", Version: "2010-03-31", TopicArn: TOPIC });
      for (const [index, { eventType, body }] of messages.slice(first, first + BATCH).entries()) {
        const entry = `PublishBatchRequestEntries.member.${index + 1}`;
        form.set(`${entry}.Id`, String(index));
        form.set(`${entry}.Message`, body);
        form.set(`${entry}.MessageAttributes.entry.1.Name`, "event-type");
        form.set(`${entry}.MessageAttributes.entry.1.Value.DataType`, "String");
        form.set(`${entry}.MessageAttributes.entry.1.Value.StringValue`, eventType);
      }
      const response = await fetch(this.#sns, { method: "POST", body: form });
      const text = await response.text();
      assert.ok(response.ok && !text.includes("BatchResultErrorEntry"), text);
    }
  }

  /** Sends a message directly to a queue. */
  async send(queue: string, body: string): Promise<void> {
    const response = await fetch(this.#sqs, {
      method: "POST",
      headers: { "content-type": "application/x-amz-json-1.0", "x-amz-target": "AmazonSQS.SendMessage" },
      body: JSON.stringify({ QueueUrl: `${this.#sqs}/000000000000/${queue}`, MessageBody: body }),
    });
    assert.ok(response.ok, await response.text());
  }

  /** Waits until the API's order fulfils a condition. */
  order(orderId: string, isAsWanted: (order: ShownOrder) => boolean = () => true): Promise<ShownOrder> {
    return eventually(`order ${orderId}`, async () => {
      const response = await fetch(`${this.url}/orders/${encodeURIComponent(orderId)}`);
      const order = (await response.json()) as ShownOrder;
      return response.ok && isAsWanted(order) ? order : undefined;
    });
  }

  /** Waits until this many orders of a consumer are in the view. */
  orders(consumerId: string, count: number): Promise<unknown> {
    return eventually(`${count} orders of ${consumerId}`, async () => {
      const response = await fetch(`${this.url}/orders?consumerId=${consumerId}&pageSize=100`);
      const { orders } = (await response.json()) as { orders: unknown[] };
      return orders.length === count ? orders : undefined;
    });
  }

  /** The payment gateway's charges for an order. */
  async charges(orderId: string): Promise<Charge[]> {
    const response = await fetch(`${this.#gateway}/charges`);
    const { charges } = (await response.json()) as { charges: Charge[] };
    return charges.filter(charge => charge.orderId === orderId && charge.status === "succeeded");
  }
}

export interface ShownOrder {
  orderId: string;
  status: string;
  payment?: { status: string; paymentIntentId: string; amount: number };
}
