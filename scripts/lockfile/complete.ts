import { type LockedPackage, type Lockfile, missingEntries } from "./lockfile.ts";
import { platformOf } from "./platform.ts";

/**
 * The lockfile with an entry for every optional dependency. Added entries have the exact version their dependent
 * asks for and no integrity; an install on their own platform adds that.
 */
export function complete(lockfile: Lockfile): Lockfile {
  const added = missingEntries(lockfile).map(({ name, version, dev }): [string, LockedPackage] => {
    const platform = platformOf(name);
    if (!platform || !/^\d+\.\d+\.\d+/.test(version)) {
      throw new Error(`${name}@${version} is missing from the lockfile and has to be added by hand.`);
    }
    // npm's own order of members, so that npm finds nothing to rewrite.
    const { cpu, libc, os } = platform;
    const entry = {
      version,
      cpu,
      ...(dev && { dev }),
      ...(libc && { libc }),
      optional: true,
      ...(os && { os }),
    };
    return [`node_modules/${name}`, entry];
  });
  const packages = [...Object.entries(lockfile.packages), ...added].sort(([left], [right]) =>
    left.localeCompare(right, "en"),
  );
  return { ...lockfile, packages: Object.fromEntries(packages) };
}
