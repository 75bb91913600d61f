// Runs the unit tests with Node's own test runner: `npm test`. They are bundled first, as Node 20 does not read TypeScript.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const unit = fileURLToPath(new URL("unit/", import.meta.url));
const names = readdirSync(unit).filter(name => name.endsWith(".test.ts"));
const out = mkdtempSync(join(tmpdir(), "web-tests-"));
try {
  await build({
    entryPoints: names.map(name => join(unit, name)),
    outdir: out,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    sourcemap: "inline",
    logLevel: "warning",
  });
  const files = readdirSync(out).map(name => join(out, name));
  const options = ["--enable-source-maps", "--test", "--test-reporter=spec"];
  // A fixed time zone and language, so that the tests do not depend on the machine.
  const env = { ...process.env, TZ: "Europe/Berlin", LC_ALL: "en_US.UTF-8" };
  process.exitCode = spawnSync(process.execPath, [...options, ...files], { stdio: "inherit", env }).status ?? 1;
} finally {
  rmSync(out, { recursive: true, force: true });
}
