import { glob, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import type { PackageManifest } from "./manifest.ts";
import type { WorkspacePackage } from "./order.ts";

const SPECIFIER = /(\bfrom\s*|\bimport\s*\(\s*|\bimport\s+)"([^"]+)"/g;

/**
 * Copies into a built library what it imports of private packages, and leads its imports there, in code and
 * declarations: what is published depends on nothing that is not. Returns the manifest with the dependencies that the
 * copies bring along.
 */
export async function vendorPrivate(
  root: string,
  library: WorkspacePackage,
  vendored: readonly WorkspacePackage[],
): Promise<PackageManifest> {
  const dist = join(root, library.folder, "dist");
  const byName = new Map(vendored.map((one) => [one.manifest.name, one]));
  const dependencies = Object.entries(library.manifest.dependencies ?? {});
  const needed = new Map(dependencies.filter(([name]) => !byName.has(name)));
  /** Files to be copied or changed: where each comes from, and the package it is of. */
  const files = new Map<string, { readonly source: string; readonly owner: WorkspacePackage }>();
  for await (const path of glob("src/**/*.{js,d.ts}", { cwd: dist }))
    files.set(join(dist, path), { source: join(dist, path), owner: library });

  /** Notes a module of a package and its declarations; returns where its code will be. */
  const take = (owner: WorkspacePackage, module: string): string => {
    const folder = join(root, owner.folder, "dist");
    const target = owner === library ? module : join(dist, "vendor", owner.folder, relative(folder, module));
    for (const extension of [".js", ".d.ts"])
      files.set(target.replace(/\.js$/, extension), {
        source: module.replace(/\.js$/, extension),
        owner,
      });
    return target;
  };

  // The map grows while it is read: what is copied imports more.
  for (const [target, { source, owner }] of files) {
    const text = await readFile(source, "utf8");
    const led = text.replaceAll(SPECIFIER, (whole, before: string, specifier: string) => {
      if (specifier.startsWith(".")) {
        // tsc leaves the extension as it is in declarations.
        const module = specifier.replace(/\.ts$/, ".js");
        if (owner !== library) take(owner, join(dirname(source), module));
        return `${before}"${module}"`;
      }
      const [name, subpath] = splitSpecifier(specifier);
      const dependency = byName.get(name);
      if (dependency) {
        const module = take(dependency, moduleOf(root, dependency, subpath));
        return `${before}"${relativeSpecifier(dirname(target), module)}"`;
      }
      const version = owner.manifest.dependencies?.[name];
      if (version !== undefined) needed.set(name, version);
      return whole;
    });
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, led);
  }
  return {
    ...library.manifest,
    dependencies: Object.fromEntries([...needed].toSorted(([a], [b]) => (a < b ? -1 : 1))),
  };
}

function splitSpecifier(specifier: string): [name: string, subpath: string] {
  const parts = specifier.split("/");
  const length = specifier.startsWith("@") ? 2 : 1;
  return [parts.slice(0, length).join("/"), [".", ...parts.slice(length)].join("/")];
}

/** The built module that an export of a package names. */
function moduleOf(root: string, { folder, manifest }: WorkspacePackage, subpath: string): string {
  const target = manifest.exports?.[subpath];
  if (target === undefined) throw new Error(`${manifest.name} has no export ${subpath}.`);
  return join(root, folder, "dist", target.replace(/\.ts$/, ".js"));
}

function relativeSpecifier(from: string, module: string): string {
  const path = relative(from, module).split(sep).join("/");
  return path.startsWith(".") ? path : `./${path}`;
}
