// `npm run dev`: serves both sites from source, in front of a running `make run` (API=http://127.0.0.1:3000), with the headers
// of that system. A change in src is built with the next request.
import { createHash } from "node:crypto";
import { watch } from "node:fs";
import { createServer, request } from "node:http";
import { fileURLToPath } from "node:url";
import { buildSite } from "./build.mjs";

const api = new URL(process.env.API ?? "http://127.0.0.1:3000");
const port = Number(process.env.PORT ?? 3030);
const built = new Map();
watch(fileURLToPath(new URL("src", import.meta.url)), { recursive: true }, () => built.clear());

createServer(async (ask, response) => {
  const { pathname } = new URL(ask.url, "http://localhost");
  const site = pathname.startsWith("/console/") && !pathname.startsWith("/console/api/") ? "console" : "page";
  const path = pathname.slice(site === "console" ? "/console/".length : 1) || "index.html";
  if (ask.method === "GET" && pathname === "/config.json") return config(ask, response);
  if (ask.method !== "GET" || !(path === "index.html" || path.startsWith("assets/"))) return forward(ask, response);
  try {
    const files = await filesOf(site);
    if (!files.has(path)) return response.writeHead(404).end();
    response.writeHead(200, await headers(site, path, files)).end(files.get(path));
  } catch (error) {
    response.writeHead(500, { "Content-Type": "text/plain; charset=utf-8" }).end(String(error));
  }
}).listen(port, "127.0.0.1", () => console.log(`page and console at http://127.0.0.1:${port}/`));

function filesOf(site) {
  if (!built.has(site)) built.set(site, buildSite(site));
  return built.get(site);
}

/** The headers of the running system, with the hash of this build's style and the issuer of CONFIG in the policy. */
async function headers(site, path, files) {
  const style = /<style>(.*?)<\/style>/s.exec(files.get("index.html"))?.[1] ?? "";
  const hash = createHash("sha256").update(style).digest("base64");
  const system = await fetch(new URL(site === "console" ? "/console/" : "/", api));
  const policy = (system.headers.get("content-security-policy") ?? "")
    .replace(/'sha256-[^']*'/, `'sha256-${hash}'`)
    .replace("connect-src 'self'", `connect-src 'self' ${issuer()}`);
  const copied = ["x-content-type-options", "referrer-policy", "cross-origin-opener-policy"];
  return {
    ...Object.fromEntries(copied.map(name => [name, system.headers.get(name) ?? ""])),
    "content-type": `text/${path.endsWith(".js") ? "javascript" : "html"}; charset=utf-8`,
    "cache-control": "no-store",
    "content-security-policy": policy,
  };
}

/** CONFIG='{"authorization":"jwt",…}' replaces the settings of the running system. */
function config(ask, response) {
  if (!process.env.CONFIG) return forward(ask, response);
  response.writeHead(200, { "Content-Type": "application/json", "Cache-Control": "no-cache" }).end(process.env.CONFIG);
}

function issuer() {
  const { issuer } = JSON.parse(process.env.CONFIG ?? "{}");
  return issuer ? new URL(issuer).origin : "";
}

function forward(ask, response) {
  const { method, url, headers } = ask;
  const onward = request(new URL(url, api), { method, headers: { ...headers, host: api.host } }, reply => {
    response.writeHead(reply.statusCode, reply.headers);
    reply.pipe(response);
  });
  onward.on("error", () => response.writeHead(502).end());
  ask.pipe(onward);
}
