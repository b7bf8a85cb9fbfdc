import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";

/** Where the lockfiles of the catalogue are. */
export const CATALOGUE_LOCKS = fileURLToPath(new URL("../../catalogue/locks", import.meta.url));

const Locked = z.looseObject({
  version: z.string().optional(),
  integrity: z.string().optional(),
  os: z.array(z.string()).optional(),
  cpu: z.array(z.string()).optional(),
  libc: z.array(z.string()).optional(),
});

const Lockfile = z.looseObject({ packages: z.record(z.string(), Locked) });

/** A package as an install has it. */
export interface InstalledPackage {
  readonly name: string;
  readonly version: string;
  /** What npm checked its content against; absent where the lockfile holds none. */
  readonly integrity?: string;
}

/** A lockfile of npm, with the package.json that it fits. */
export interface AgentLockfile {
  readonly manifest: string;
  readonly lockfile: string;
  /** The SHA-256 of both. */
  readonly hash: string;
}

/** The lockfile that a folder holds for an agent; undefined when it holds none. */
export function lockfileOf(agent: string, folder: string): AgentLockfile | undefined {
  try {
    const manifest = readFileSync(join(folder, agent, "package.json"), "utf8");
    const lockfile = readFileSync(join(folder, agent, "package-lock.json"), "utf8");
    return { manifest, lockfile, hash: createHash("sha256").update(manifest).update(lockfile).digest("hex") };
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** The packages of a lockfile that are for a platform, which is `os`-`cpu`. */
export function packagesIn(lockfile: string, platform: string): readonly InstalledPackage[] {
  const [os = "", cpu = ""] = platform.split("-");
  const { packages } = Lockfile.parse(JSON.parse(lockfile));
  return Object.entries(packages).flatMap(([place, locked]) => {
    if (place === "" || !fits(locked.os, os) || !fits(locked.cpu, cpu)) return [];
    const name = place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length);
    const { version = "", integrity } = locked;
    return [{ name, version, ...(integrity !== undefined && { integrity }) }];
  });
}

function fits(wanted: readonly string[] | undefined, ours: string): boolean {
  if (!wanted || wanted.length === 0) return true;
  if (wanted.includes(`!${ours}`)) return false;
  return wanted.includes(ours) || wanted.every((each) => each.startsWith("!"));
}
