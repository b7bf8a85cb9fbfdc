import { dirname, join } from "node:path";
import type { Ports } from "./ports.ts";

/** Longer than any write takes; what is older was left behind by a process that died. */
const LEFTOVER_AGE = 60 * 60 * 1000;
const TEMPORARY = /^\.new-([0-9a-z]+)-[0-9a-f]+$/;

/**
 * Puts a file in place whole or not at all: written beside its place, on the disk, before it takes its name. Settles
 * when the name is on the disk as well. `workshop` is where it is written, on the same disk as its place.
 */
export async function writeWhole(
  { disk, randomBytes, now }: Ports,
  workshop: string,
  path: string,
  bytes: Uint8Array,
): Promise<void> {
  const random = Buffer.from(randomBytes(8)).toString("hex");
  const temporary = join(workshop, `.new-${now().getTime().toString(36)}-${random}`);
  try {
    await disk.create(temporary, bytes);
    await disk.rename(temporary, path);
  } catch (error) {
    // The failure matters more than the litter, which is swept up later.
    await disk.remove(temporary).catch(() => false);
    throw error;
  }
  await disk.sync(dirname(path));
}

/** Removes what processes that died left in a workshop. What may still be in the making stays. */
export async function sweepLeftovers({ disk, now }: Ports, workshop: string): Promise<void> {
  const time = now().getTime();
  for (const name of await disk.names(workshop)) {
    const made = TEMPORARY.exec(name)?.[1];
    if (made === undefined || Math.abs(time - Number.parseInt(made, 36)) < LEFTOVER_AGE) continue;
    await disk.remove(join(workshop, name));
  }
}
