// Measures a visit: requests, transferred bytes and times, with a cold and a warm cache. Times are only printed, because they depend on
// the machine.
import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import type { BrowserContext, CDPSession } from "playwright-core";
import { launch } from "./browser";
import { newConsumer, Order } from "./events";
import { System } from "./system";

/** The limit for each site with all its files, compressed. */
const MOST_BYTES = 100 * 1024;

interface Figures {
  requests: number;
  bytes: number;
  firstPaint: number;
  firstOrder: number;
}

const system = await System.start();
const browser = await launch();
try {
  const consumerId = newConsumer();
  const orders = Array.from({ length: 20 }, (_, index) => new Order({ consumerId, minutesAgo: 20 + index }));
  await system.publish(orders.map(order => order.created()));
  await system.orders(consumerId, orders.length);
  const address = `${system.url}/#/?consumer=${consumerId}`;
  const newest = orders[0]?.id ?? "";

  // The first requests start the functions' processes. Only warm requests are measured.
  await visit(await browser.newContext(), address, newest);
  const context = await browser.newContext();
  const rows = {
    "cold cache": await visit(context, address, newest),
    "warm cache": await visit(context, address, newest),
  };
  console.log("\nA history of 20 orders      requests   bytes on the wire   first paint   first order shown");
  for (const [name, { requests, bytes, firstPaint, firstOrder }] of Object.entries(rows)) {
    const times = `${`${firstPaint.toFixed(0)} ms`.padStart(13)} ${`${firstOrder.toFixed(0)} ms`.padStart(19)}`;
    console.log(`${name.padEnd(25)} ${String(requests).padStart(10)} ${String(bytes).padStart(19)} ${times}`);
  }
  const page = await siteBytes(`${system.url}/`);
  const both = page + (await siteBytes(`${system.url}/console/`));
  console.log(`The page is ${page} bytes compressed, with what it loads only for sign-in; with the console ${both}.`);
  assert.ok(both <= MOST_BYTES, `page and console may have ${MOST_BYTES} bytes`);
} finally {
  await browser.close();
  await system.end();
}

async function visit(context: BrowserContext, address: string, orderId: string): Promise<Figures> {
  const page = await context.newPage();
  const wire = await context.newCDPSession(page);
  const { requests, bytes } = await counted(wire);
  await page.goto(address);
  await page.getByText(orderId).first().waitFor();
  const figures = await page.evaluate(() => ({
    firstOrder: performance.now(),
    firstPaint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Number.NaN,
  }));
  await page.close();
  return { ...figures, requests: requests(), bytes: bytes() };
}

/** Counts the transferred bytes: headers and bodies as they were sent. */
async function counted(wire: CDPSession) {
  let [requests, bytes] = [0, 0];
  const ofCache = new Set<string>();
  wire.on("Network.requestServedFromCache", ({ requestId }) => ofCache.add(requestId));
  wire.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
    if (ofCache.has(requestId) || encodedDataLength === 0) return;
    requests += 1;
    bytes += encodedDataLength;
  });
  await wire.send("Network.enable");
  return { requests: () => requests, bytes: () => bytes };
}

/** The size of a site's files, compressed. */
async function siteBytes(address: string): Promise<number> {
  const sizes = new Map<string, number>();
  const measure = async (url: string) => {
    if (sizes.has(url)) return;
    const response = await fetch(url, { headers: { "accept-encoding": "gzip" } });
    assert.ok(response.ok, `${url}: ${response.status}`);
    const text = await response.text();
    // The console is not compressed, because it is on the same machine.
    const isCompressed = response.headers.get("content-encoding") === "gzip";
    sizes.set(url, isCompressed ? Number(response.headers.get("content-length")) : gzipSync(text).length);
    // index.html contains the name of the first script, and scripts contain the names of those that they load.
    for (const [name] of text.matchAll(/[\w.-]+-[A-Z0-9]{8}\.js/g))
      await measure(new URL(`assets/${name}`, address).href);
  };
  await measure(address);
  return [...sizes.values()].reduce((sum, size) => sum + size, 0);
}
