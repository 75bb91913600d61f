// Builds the two sites into dist/: the page, which the query Lambda serves, and the console of `make run`.
//
// A site is an index.html with its style inline, so that the first paint needs one round trip, and scripts whose names carry a
// digest of their content. All addresses are relative: a site works below any path.
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { build } from "esbuild";

const root = new URL(".", import.meta.url);
const SITES = ["page", "console"];

for (const site of SITES) {
  await buildSite(site);
}

async function buildSite(site) {
  const out = new URL(`dist/${site}/`, root);
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  const built = await build({
    absWorkingDir: root.pathname,
    entryPoints: { app: `src/${site}/main.tsx`, style: `src/${site}/style.css` },
    outdir: `dist/${site}/assets`,
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    target: ["es2022", "chrome123", "firefox121", "safari17.5"],
    minify: true,
    legalComments: "none",
    jsx: "automatic",
    jsxImportSource: "preact",
    metafile: true,
    write: false,
    logLevel: "warning",
  });
  const files = new Map(built.outputFiles.map(file => [basename(file.path), file]));
  const [script] = [...files.keys()].filter(name => /^app-.*\.js$/.test(name));
  const [style] = [...files.keys()].filter(name => /^style-.*\.css$/.test(name));
  const template = await readFile(new URL(`src/${site}/index.html`, root), "utf8");
  const html = template
    .replace("/* style */", () => files.get(style).text.trim())
    .replaceAll("app.js", () => `assets/${script}`)
    .replace(/>\s+</g, "><")
    .trim();
  await writeFile(new URL("index.html", out), `${html}\n`);
  await mkdir(new URL("assets/", out), { recursive: true });
  for (const [name, file] of files) {
    if (name.endsWith(".js")) await writeFile(new URL(`assets/${name}`, out), file.contents);
  }
}
