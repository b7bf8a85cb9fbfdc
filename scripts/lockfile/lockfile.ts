/** One package in package-lock.json. Members we do not name are kept. */
export interface LockedPackage {
  [member: string]: unknown;
  version?: string;
  resolved?: string;
  link?: boolean;
  dev?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
}

/** package-lock.json, version 3: packages by their place in the tree. */
export interface Lockfile {
  [member: string]: unknown;
  packages: Record<string, LockedPackage>;
}

/** An optional dependency that a locked package names and the lockfile has no entry for. */
export interface MissingEntry {
  name: string;
  version: string;
  dev: boolean;
}

/**
 * Optional dependencies without an entry. npm leaves one out when the package index it asks does not serve that
 * platform's binaries, and then `npm ci` refuses the lockfile on every machine.
 */
export function missingEntries(lockfile: Lockfile): MissingEntry[] {
  const missing = new Map<string, MissingEntry>();
  for (const [place, locked] of Object.entries(lockfile.packages)) {
    for (const [name, version] of Object.entries(locked.optionalDependencies ?? {})) {
      if (resolves(lockfile, place, name) || missing.has(name)) continue;
      missing.set(name, { name, version, dev: locked.dev ?? false });
    }
  }
  return [...missing.values()];
}

/** Places from which packages are fetched by a fixed address, which would tie an install to one package index. */
export function fixedAddresses(lockfile: Lockfile): string[] {
  return Object.entries(lockfile.packages)
    .filter(([, locked]) => locked.resolved?.includes("://"))
    .map(([place]) => place);
}

function resolves(lockfile: Lockfile, place: string, name: string): boolean {
  for (let folder = place; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")))) {
    if (`${folder === "" ? "" : `${folder}/`}node_modules/${name}` in lockfile.packages) return true;
    if (folder === "") return false;
  }
}
