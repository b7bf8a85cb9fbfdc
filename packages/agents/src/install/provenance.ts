import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

const NAME = "install.json";

const Package = z.object({ name: z.string(), version: z.string(), integrity: z.string().optional() });

/** Where an install came from. Written last, into a folder that gets its name only then. */
export const Provenance = z.object({
  agent: z.string(),
  /** The version of the package that speaks ACP. */
  version: z.string(),
  /** The package that speaks ACP. */
  agentProcess: Package,
  /** The agent itself, where that is another package. */
  native: Package.optional(),
  /** `lockfile`: exactly what the catalogue holds; `override`: what npm found for versions that were asked for. */
  source: z.enum(["lockfile", "override"]),
  /** The SHA-256 of package.json and package-lock.json that npm worked from. */
  lock: z.string(),
  packages: z.array(Package),
  platform: z.string(),
  node: z.string(),
  /** What the agent said when it was asked for its version. */
  verified: z.string(),
  installedAt: z.string(),
});
export type Provenance = z.infer<typeof Provenance>;

/** What a folder says of where it came from; undefined when it says nothing, or nothing sensible. */
export async function readProvenance(folder: string): Promise<Provenance | undefined> {
  try {
    return Provenance.safeParse(JSON.parse(await readFile(join(folder, NAME), "utf8"))).data;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR")) {
      return undefined;
    }
    throw error;
  }
}

/** Notes in a folder where it came from. */
export async function writeProvenance(folder: string, provenance: Provenance): Promise<void> {
  await writeFile(join(folder, NAME), `${JSON.stringify(provenance, undefined, 2)}\n`);
}
