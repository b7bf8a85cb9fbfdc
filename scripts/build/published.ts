import { glob, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { PackageManifest } from "./manifest.ts";
import type { WorkspacePackage } from "./order.ts";

/** The name under which the command is published, with the server and the page in it. */
export const PROGRAM = "reins";

/** What is published: packages to import, the private ones that are copied into them, and the command. */
export interface Published {
  readonly libraries: readonly WorkspacePackage[];
  readonly vendored: readonly WorkspacePackage[];
  readonly program: WorkspacePackage;
}

/** Finds what is published of a repository: packages that are not private. The one with a command is the program. */
export async function findPublished(root: string): Promise<Published> {
  const all: WorkspacePackage[] = [];
  for await (const path of glob("packages/*/package.json", { cwd: root })) {
    const manifest: PackageManifest = JSON.parse(await readFile(join(root, path), "utf8"));
    all.push({ folder: dirname(path), manifest });
  }
  const open = all.filter(({ manifest }) => !manifest.private);
  const program = open.find(({ manifest }) => manifest.bin !== undefined);
  if (!program) throw new Error("No package that is not private has a command.");
  const libraries = open.filter((one) => one !== program);
  return { libraries, vendored: vendoredIn(libraries, all), program };
}

/** The private packages that libraries depend on, at any distance. */
function vendoredIn(
  libraries: readonly WorkspacePackage[],
  all: readonly WorkspacePackage[],
): readonly WorkspacePackage[] {
  const found = new Set<WorkspacePackage>();
  const visit = ({ manifest }: WorkspacePackage) => {
    for (const name of Object.keys(manifest.dependencies ?? {})) {
      const one = all.find((other) => other.manifest.name === name);
      if (!one?.manifest.private || found.has(one)) continue;
      found.add(one);
      visit(one);
    }
  };
  for (const library of libraries) visit(library);
  return [...found];
}
