// `npm run dev`: serves both sites from source, in front of a running `make run` (API=http://127.0.0.1:3000), with the headers
// that the query Lambda sends. A change in src is built with the next request.
import { createHash } from "node:crypto";
import { watch } from "node:fs";
import { createServer, request } from "node:http";
import { fileURLToPath } from "node:url";
import { buildSite } from "./build.mjs";

const api = new URL(process.env.API ?? "http://127.0.0.1:3000");
const port = Number(process.env.PORT ?? 3030);
const built = new Map();
watch(fileURLToPath(new URL("src", import.meta.url)), { recursive: true }, () => built.clear());

createServer(async (ask, answer) => {
  const { pathname } = new URL(ask.url, "http://localhost");
  const site = pathname.startsWith("/console/") && !pathname.startsWith("/console/api/") ? "console" : "page";
  const path = pathname.slice(site === "console" ? "/console/".length : 1) || "index.html";
  if (ask.method === "GET" && pathname === "/config.json") return config(ask, answer);
  if (ask.method !== "GET" || !(path === "index.html" || path.startsWith("assets/"))) return forward(ask, answer);
  try {
    const files = await filesOf(site);
    if (!files.has(path)) return answer.writeHead(404).end();
    answer.writeHead(200, headers(path, files)).end(files.get(path));
  } catch (error) {
    answer.writeHead(500, { "Content-Type": "text/plain; charset=utf-8" }).end(String(error));
  }
}).listen(port, "127.0.0.1", () => console.log(`page and console at http://127.0.0.1:${port}/`));

function filesOf(site) {
  if (!built.has(site)) built.set(site, buildSite(site));
  return built.get(site);
}

function headers(path, files) {
  const style = /<style>(.*?)<\/style>/s.exec(files.get("index.html"))?.[1] ?? "";
  const hash = createHash("sha256").update(style).digest("base64");
  return {
    "Content-Type": `text/${path.endsWith(".js") ? "javascript" : "html"}; charset=utf-8`,
    "Cache-Control": "no-store",
    "Content-Security-Policy":
      `default-src 'none'; script-src 'self'; style-src 'sha256-${hash}'; img-src data:; connect-src 'self' ${issuer()}; ` +
      "form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
  };
}

/** CONFIG='{"authorization":"jwt",…}' shows the page in another mode than that of the system behind it. */
function config(ask, answer) {
  if (!process.env.CONFIG) return forward(ask, answer);
  answer.writeHead(200, { "Content-Type": "application/json", "Cache-Control": "no-cache" }).end(process.env.CONFIG);
}

function issuer() {
  const { issuer } = JSON.parse(process.env.CONFIG ?? "{}");
  return issuer ? new URL(issuer).origin : "";
}

function forward(ask, answer) {
  const { method, url, headers } = ask;
  const onward = request(new URL(url, api), { method, headers: { ...headers, host: api.host } }, reply => {
    answer.writeHead(reply.statusCode, reply.headers);
    reply.pipe(answer);
  });
  onward.on("error", () => answer.writeHead(502).end());
  ask.pipe(onward);
}
