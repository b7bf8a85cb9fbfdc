/** The members of a package.json that a build reads or changes. The others are kept as they are. */
export interface PackageManifest {
  [member: string]: unknown;
  name: string;
  version: string;
  private?: boolean;
  exports?: Record<string, string>;
  bin?: Record<string, string>;
  dependencies?: Record<string, string>;
}

/** An entry of `exports` in a published package: the code and its types. */
interface PublishedExport {
  types: string;
  default: string;
}

/**
 * The package.json of a library as it is published. In the repository `exports` names the TypeScript sources, which Node
 * runs as they are; here it names what was built from them, at the same place with another extension. No user who
 * installs it needs the development packages.
 */
export function publishedManifest(manifest: PackageManifest): Record<string, unknown> {
  const { exports, devDependencies: _, ...kept } = manifest;
  return { ...kept, ...(exports && { exports: mapValues(exports, publishedExport) }) };
}

/** The folders and files beside `src` that `exports` names, which a build copies. */
export function copiedAssets(manifest: PackageManifest): string[] {
  const targets = Object.values(manifest.exports ?? {}).filter((target) => !target.endsWith(".ts"));
  return [...new Set(targets.map((target) => target.replace(/^\.\//, "").replace(/\/\*.*$/, "")))];
}

function publishedExport(target: string): string | PublishedExport {
  if (!target.endsWith(".ts")) return target;
  return { types: target.replace(/\.ts$/, ".d.ts"), default: toJavaScript(target) };
}

function toJavaScript(target: string): string {
  return target.replace(/\.ts$/, ".js");
}

function mapValues<From, To>(record: Record<string, From>, change: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}
