import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { PackageManifest } from "./manifest.ts";

/** The tools that build the page, of which nothing is in it. */
const TOOLS: ReadonlySet<string> = new Set([
  "vite",
  "tailwindcss",
  "@tailwindcss/vite",
  "@vitejs/plugin-react",
]);

/** The licences of the packages of others that a bundle and the page contain. */
export async function thirdPartyNotices(root: string, modules: ReadonlySet<string>): Promise<string> {
  const names = new Set<string>();
  for (const module of modules) {
    const name = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(module)?.[1];
    if (name !== undefined) names.add(name);
  }
  const page = await manifestIn(join(root, "packages/inspector"));
  for (const name of Object.keys(page?.dependencies ?? {})) await addWithDependencies(root, name, names);
  const notices = await Promise.all([...names].toSorted().map((name) => noticeOf(root, name)));
  return `This package contains parts of these packages:\n\n${notices.filter((text) => text !== "").join("\n")}`;
}

async function addWithDependencies(root: string, name: string, names: Set<string>): Promise<void> {
  if (names.has(name) || TOOLS.has(name) || name.startsWith("@reins/")) return;
  const manifest = await manifestIn(join(root, "node_modules", name));
  if (!manifest) return;
  names.add(name);
  for (const dependency of Object.keys(manifest.dependencies ?? {}))
    await addWithDependencies(root, dependency, names);
}

async function noticeOf(root: string, name: string): Promise<string> {
  const folder = join(root, "node_modules", name);
  const manifest = await manifestIn(folder);
  // Of a version that lies inside of another package; the licence is that of the name.
  if (!manifest) return "";
  const file = (await readdir(folder)).find((one) => /^licen[cs]e/i.test(one));
  const text = file === undefined ? "" : await readFile(join(folder, file), "utf8");
  return `${"-".repeat(80)}\n${name} ${manifest.version}, ${String(manifest.license)}\n\n${text.trim()}\n`;
}

async function manifestIn(folder: string): Promise<PackageManifest | undefined> {
  try {
    const manifest: PackageManifest = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    return manifest;
  } catch {
    return undefined;
  }
}
