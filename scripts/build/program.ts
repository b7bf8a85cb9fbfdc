import { existsSync } from "node:fs";
import { chmod, copyFile, cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join, relative } from "node:path";
import type { Plugin } from "vite";
import { buildPage } from "../bootstrap/page.mjs";
import { bundleProgram, LEFT_OUT } from "../bundle/bundle-program.ts";
import { Sources } from "../bundle/sources.ts";
import type { PackageManifest } from "./manifest.ts";
import { thirdPartyNotices } from "./notices.ts";
import type { WorkspacePackage } from "./order.ts";
import { PROGRAM } from "./published.ts";

/** Data that the program reads, found from its sources, which lie beside it in the repository. */
const DATA = [
  "packages/agents/catalogue",
  "packages/ahp/schema",
  "packages/graph/schema",
  "packages/inspector/dist",
  "packages/policy/constitutions",
  "packages/policy/schema",
  "packages/policy/tables",
];
/** Named by modules of the program, but used only to write files of the repository. */
const NOT_READ = ["docs/reference", "packages/ahp/src"];
/** The syntax of the oldest Node that the program runs on. */
const TARGET = "es2024";

/** Builds the command with the server and the page, so that it runs on Node and two packages of others. */
export async function buildProgram(root: string, { folder, manifest }: WorkspacePackage): Promise<void> {
  const target = join(root, folder, "dist");
  const problem = await buildPage(root, process.execPath);
  if (problem !== undefined) throw new Error(problem);
  // As in the repository: the bundle in a folder beside `packages`.
  const sources = new Sources(root, join(root, "bundle"), { isPublished: true });
  const assets = new Map<string, string>();
  const modules = await bundleProgram({
    root,
    folder: join(target, "bundle"),
    sources,
    target: TARGET,
    plugins: [assetsOfPackages(assets)],
  });
  await expectKnownData(root, modules);
  for (const path of DATA) await cp(join(root, path), join(target, path), { recursive: true });
  for (const [name, path] of assets) {
    await mkdir(join(target, "assets"), { recursive: true });
    await copyFile(path, join(target, "assets", name));
  }
  const { version, license, engines } = manifest;
  await mkdir(join(target, "packages/cli"), { recursive: true });
  const inner = { name: manifest.name, version, private: true, type: "module" };
  await writeFile(join(target, "packages/cli/package.json"), `${JSON.stringify(inner, undefined, 2)}\n`);
  await mkdir(join(target, "bin"));
  await writeFile(join(target, "bin/reins.mjs"), commandText(manifest));
  await chmod(join(target, "bin/reins.mjs"), 0o755);
  const published = {
    name: PROGRAM,
    version,
    description: manifest.description,
    license,
    type: "module",
    engines,
    bin: { reins: "./bin/reins.mjs" },
    dependencies: await versionsOf(root, LEFT_OUT),
  };
  await writeFile(join(target, "package.json"), `${JSON.stringify(published, undefined, 2)}\n`);
  await writeFile(join(target, "THIRD-PARTY-NOTICES.txt"), await thirdPartyNotices(root, modules));
}

/** Runs on any Node, to say which one is needed. */
function commandText({ engines }: PackageManifest): string {
  const [, major = "", minor = ""] = /(\d+)\.(\d+)/.exec(String(Object(engines).node)) ?? [];
  return `#!/usr/bin/env node
const [major, minor] = process.versions.node.split(".").map(Number);
if (major < ${major} || (major === ${major} && minor < ${minor})) {
  console.error(\`reins needs Node ${major}.${minor} or newer; this is \${process.version}.\`);
  process.exit(1);
}
const [print] = process.listeners("warning");
process.removeAllListeners("warning");
// Node before 24 says so of the SQLite that reads ledgers to verify.
process.on("warning", (warning) => {
  if (warning.name !== "ExperimentalWarning") print?.(warning);
});
await import("../bundle/main.mjs");
`;
}

const REQUIRED_FILE = /(?:createRequire\(import\.meta\.url\)|\brequire)\.resolve\("([^"]+\.wasm)"\)/g;

/** Ships files that the program reads from packages of others, so that it needs nothing else of these. */
function assetsOfPackages(assets: Map<string, string>): Plugin {
  return {
    name: "reins:assets",
    enforce: "pre",
    transform: (code, id) => {
      if (!/[\w-]\.wasm"/.test(code) || id.includes("/node_modules/")) return null;
      const shipped = code.replaceAll(REQUIRED_FILE, (_, path: string) => {
        assets.set(basename(path), createRequire(id).resolve(path));
        return `process.getBuiltinModule("node:url").fileURLToPath(new URL("../assets/${basename(path)}", import.meta["url"]))`;
      });
      if (shipped === code)
        throw new Error(`${id} names a .wasm file in a form that the build does not know.`);
      return { code: shipped, map: null };
    },
  };
}

const NAMED_PATH = /new URL\(\s*["`](\.\.?\/[^"`$]*)/g;

/** Rejects a program that names a path which is neither shipped nor known not to be read. */
async function expectKnownData(root: string, modules: ReadonlySet<string>): Promise<void> {
  const known = [...DATA, ...NOT_READ, "packages/cli/package.json"];
  for (const module of modules) {
    if (module.includes("/node_modules/") || !existsSync(module)) continue;
    for (const [, path = ""] of (await readFile(module, "utf8")).matchAll(NAMED_PATH)) {
      const named = relative(root, join(dirname(module), path));
      if (/\.[jt]s$/.test(path) || known.some((one) => `${named}/`.startsWith(`${one}/`))) continue;
      throw new Error(`${relative(root, module)} reads ${named}, which the build does not ship.`);
    }
  }
}

async function versionsOf(root: string, names: readonly string[]): Promise<Record<string, string>> {
  const versions = await Promise.all(
    names.map(async (name) => {
      const manifest: PackageManifest = JSON.parse(
        await readFile(join(root, "node_modules", name, "package.json"), "utf8"),
      );
      return [name, manifest.version] as const;
    }),
  );
  return Object.fromEntries(versions);
}
