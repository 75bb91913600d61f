// What a visit costs, as Lighthouse would say: bytes over the wire, requests, and times, with a cold and a warm cache.
import assert from "node:assert/strict";
import type { BrowserContext, CDPSession } from "playwright-core";
import { launch } from "./browser";
import { newConsumer, Order } from "./events";
import { System } from "./system";

/** Of the page with all that it may ever load, compressed. */
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

  // The functions' processes are started by the first requests. What is measured is a warm Lambda.
  await visit(await browser.newContext(), address, newest);
  const context = await browser.newContext();
  const rows = {
    "cold cache": await visit(context, address, newest),
    "warm cache": await visit(context, address, newest),
  };
  console.log("\na consumer's history of 20 orders   requests   bytes on the wire   first paint   first order shown");
  for (const [name, { requests, bytes, firstPaint, firstOrder }] of Object.entries(rows)) {
    const cells = [requests, bytes, `${firstPaint.toFixed(0)} ms`, `${firstOrder.toFixed(0)} ms`];
    const [one = "", two = "", three = "", four = ""] = cells.map(String);
    console.log(
      `${name.padEnd(33)} ${one.padStart(10)} ${two.padStart(19)} ${three.padStart(13)} ${four.padStart(19)}`,
    );
  }
  console.log("page    of which, with what it loads only when it is needed");
  for (const site of ["", "console/"]) {
    const bytes = await siteBytes(`${system.url}/${site}`);
    console.log(`${`/${site}`.padEnd(33)} ${"".padStart(10)} ${String(bytes).padStart(19)}`);
    assert.ok(bytes <= MOST_BYTES, `/${site} has ${bytes} bytes compressed, and may have ${MOST_BYTES}`);
  }
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

/** Counts what goes over the wire: headers and bodies as they were sent. */
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

/** The size of a site's files, compressed as they are sent. */
async function siteBytes(address: string): Promise<number> {
  const seen = new Set<string>();
  let bytes = 0;
  const fetchFile = async (url: string) => {
    if (seen.has(url)) return;
    seen.add(url);
    const plain = await fetch(url, { headers: { "accept-encoding": "identity" } });
    assert.ok(plain.ok, `${url}: ${plain.status}`);
    const text = await plain.text();
    const compressed = await fetch(url, { headers: { "accept-encoding": "gzip" } });
    bytes += Number(compressed.headers.get("content-length") ?? text.length);
    await compressed.arrayBuffer();
    // Scripts name the scripts that they load, and index.html the first one.
    for (const [name] of text.matchAll(/[\w.-]+-[A-Z0-9]{8}\.js/g))
      await fetchFile(new URL(`assets/${name}`, address).href);
  };
  await fetchFile(address);
  return bytes;
}
