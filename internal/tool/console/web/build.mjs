// Bundles the console's script and style sheet, and the licences of the bundled packages.
// The argument is the output folder; the default is ../dist.
import { build } from "esbuild";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "../dist");
await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });

const { metafile } = await build({
  absWorkingDir: here,
  entryPoints: ["src/console.ts", "src/console.css"],
  outdir: out,
  bundle: true,
  minify: true,
  format: "iife",
  target: ["es2022"],
  charset: "ascii",
  legalComments: "none", // LICENSES.txt has the full texts
  metafile: true,
});
await writeFile(join(out, "LICENSES.txt"), await licences(Object.keys(metafile.inputs)));

// licences returns the licence texts of all packages among the inputs.
async function licences(inputs) {
  const packages = new Set(inputs.map((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]).filter(Boolean));
  const parts = ["The packages in the console's scripts, and their licences.\n"];
  for (const name of [...packages].sort()) {
    const folder = join(here, "node_modules", name);
    const { version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    parts.push(`\n${"=".repeat(72)}\n${name} ${version} (${license})\n${"=".repeat(72)}\n`);
    const all = await readdir(folder, { recursive: true, withFileTypes: true });
    const files = all.filter((e) => e.isFile() && !/node_modules/.test(relative(folder, e.parentPath)) && /^(licen[sc]e|copying|notice)/i.test(e.name)).map((e) => relative(folder, join(e.parentPath, e.name))).sort();
    if (files.length === 0) throw new Error(`${name} has no licence file`);
    for (const file of files) parts.push(await readFile(join(folder, file), "utf8"));
  }
  return parts.join("\n").replace(/\r\n/g, "\n");
}
