import { glob, readFile } from "node:fs/promises";
import { join, sep } from "node:path";

/** A source file, its path relative to the root and with forward slashes. */
export interface SourceFile {
  path: string;
  text: string;
}

/** The parts of a package's package.json that say what it depends on. */
export interface Manifest {
  name?: string;
  version?: string;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

/** What the rules look at. Manifests are keyed by the folder's name under `packages/`. */
export interface SourceTree {
  files: SourceFile[];
  manifests: Map<string, Manifest>;
}

const SOURCES = "{packages/*,scripts,examples}/**/*.{ts,tsx,mts,cts,js,jsx,mjs,cjs}";

/** Reads the sources and manifests under a root. */
export async function readTree(root: string): Promise<SourceTree> {
  const files: SourceFile[] = [];
  const exclude = (path: string) => /(^|[\\/])(node_modules|dist)([\\/]|$)/.test(path);
  for await (const found of glob(SOURCES, { cwd: root, exclude })) {
    files.push({ path: found.split(sep).join("/"), text: await readFile(join(root, found), "utf8") });
  }
  const manifests = new Map<string, Manifest>();
  for await (const found of glob("packages/*/package.json", { cwd: root })) {
    manifests.set(found.split(sep)[1] ?? "", JSON.parse(await readFile(join(root, found), "utf8")));
  }
  return { files, manifests };
}
