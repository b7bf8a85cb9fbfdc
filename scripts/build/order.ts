import type { PackageManifest } from "./manifest.ts";

/** A package of the workspace: its folder, relative to the root, and its package.json. */
export interface WorkspacePackage {
  folder: string;
  manifest: PackageManifest;
}

/** Packages so that each comes after those it depends on, whose declarations it is built against. */
export function inBuildOrder(packages: readonly WorkspacePackage[]): WorkspacePackage[] {
  const byName = new Map(packages.map((one) => [one.manifest.name, one]));
  const ordered = new Set<WorkspacePackage>();
  const visit = (one: WorkspacePackage, dependents: readonly string[]) => {
    const { name, dependencies = {} } = one.manifest;
    if (dependents.includes(name))
      throw new Error(`A circle of dependencies: ${[...dependents, name].join(" > ")}`);
    for (const dependency of Object.keys(dependencies)) {
      const next = byName.get(dependency);
      if (next) visit(next, [...dependents, name]);
    }
    ordered.add(one);
  };
  for (const one of packages) visit(one, []);
  return [...ordered];
}
