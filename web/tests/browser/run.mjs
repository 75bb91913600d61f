// Runs the browser tests with Node's own test runner, on target/debug/local: `node tests/browser/run.mjs` all of `make browser`,
// `run.mjs payment console` only these files. `run.mjs deployed` is for tests/e2e/run, which has deployed the system before.
//
// BROWSER_PATH is the browser. Screenshots, also of failed tests, are in target/browser.
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = new URL("./", import.meta.url);
const path = url => fileURLToPath(url);
const asked = process.argv.slice(2);
const artefacts = process.env.BROWSER_ARTEFACTS ?? path(new URL("../../../target/browser/", here));
// Next to the packages, which the bundled tests import.
const bundled = new URL(`../../node_modules/.browser-tests-${process.pid}/`, here);

const names = readdirSync(here).flatMap(name => /^(\w+)\.test\.ts$/.exec(name)?.[1] ?? []);
for (const name of asked) {
  if (!names.includes(name)) throw new Error(`there is no ${name}; there are ${names.join(", ")}`);
}
// The slowest files first.
const LONG = ["shuffle", "payment", "console"];
const ofMakeBrowser = [...LONG, ...names.filter(name => name !== "deployed" && !LONG.includes(name))];
const chosen = asked.length > 0 ? asked : ofMakeBrowser;
if (asked.length === 0) rmSync(artefacts, { recursive: true, force: true });
mkdirSync(artefacts, { recursive: true });

// Node runs files in the order of their names.
const tests = chosen.map((name, place) => [`${place + 1}-${name}.test`, `${name}.test.ts`]);
await build({
  entryPoints: Object.fromEntries(
    [...tests, ["figures", "figures.ts"]].map(([to, from]) => [to, path(new URL(from, here))]),
  ),
  outdir: path(bundled),
  outExtension: { ".js": ".mjs" },
  bundle: true,
  packages: "external",
  platform: "node",
  format: "esm",
  target: "node20",
  sourcemap: "inline",
  logLevel: "warning",
});
const node = (...args) =>
  spawnSync(process.execPath, ["--enable-source-maps", ...args], {
    stdio: "inherit",
    env: { ...process.env, BROWSER_ARTEFACTS: artefacts },
  }).status ?? 1;
const script = name => path(new URL(`${name}.mjs`, bundled));

let status = 1;
try {
  status = node(
    "--test",
    "--test-reporter=spec",
    `--test-concurrency=${process.env.BROWSER_CONCURRENCY ?? 2}`,
    ...tests.map(([name]) => script(name)),
  );
  if (status === 0 && asked.length === 0) status = node(script("figures"));
} finally {
  rmSync(bundled, { recursive: true, force: true });
}
process.exitCode = status;
