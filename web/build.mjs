// Builds the two sites into dist/: the page, which the query Lambda serves, and the console of `make run`.
// `node build.mjs page` builds one of them.
//
// A site is an index.html with its style inline, so that the first paint needs one round trip, and scripts whose names contain a
// digest of their content. All addresses are relative: a site works below any path.
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = new URL(".", import.meta.url);
export const SITES = ["page", "console"];

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const site of process.argv.length > 2 ? process.argv.slice(2) : SITES) {
    await write(site, await buildSite(site));
  }
}

/** The files of a site by their path: `index.html` first. */
export async function buildSite(site) {
  const built = await build({
    absWorkingDir: fileURLToPath(root),
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
    charset: "utf8",
    jsx: "automatic",
    jsxImportSource: "preact",
    write: false,
    logLevel: "warning",
  });
  const outputs = built.outputFiles.map(file => ({ ...file, name: basename(file.path), text: file.text }));
  const script = outputs.find(file => /^app-.*\.js$/.test(file.name));
  const style = outputs.find(file => /^style-.*\.css$/.test(file.name));
  const template = await readFile(new URL(`src/${site}/index.html`, root), "utf8");
  const html = template
    .replace(/>\s+</g, "><")
    .replaceAll("app.js", () => `assets/${script.name}`)
    .replace("/* style */", () => style.text.trim())
    .trim();
  const scripts = outputs.filter(file => file.name.endsWith(".js")).sort((a, b) => (a.name < b.name ? -1 : 1));
  return new Map([["index.html", `${html}\n`], ...scripts.map(file => [`assets/${file.name}`, file.text])]);
}

async function write(site, files) {
  const out = new URL(`dist/${site}/`, root);
  await rm(out, { recursive: true, force: true });
  await mkdir(new URL("assets/", out), { recursive: true });
  for (const [path, text] of files) await writeFile(new URL(path, out), text);
}
