import { randomBytes } from "node:crypto";
import type { Disk } from "./disk.ts";
import { machineDisk } from "./machine-disk.ts";

/** What keys, seals and artifacts need of the machine; a test brings its own. */
export interface Ports {
  readonly disk: Disk;
  /** As many unpredictable bytes as asked for. */
  readonly randomBytes: (size: number) => Uint8Array;
  readonly now: () => Date;
}

/** The machine itself, with what the caller brings instead. */
export function portsWith(own: Partial<Ports>): Ports {
  return { disk: machineDisk, randomBytes: (size) => randomBytes(size), now: () => new Date(), ...own };
}
