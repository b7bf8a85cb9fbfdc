import type { Random } from "../../../../scripts/torture/random.ts";
import { pause } from "../bounds.ts";
import type { Harness } from "../harness/harness.ts";
import { megabytes } from "../memory.ts";

/** The token that opens the tortured server. */
export const TOKEN = "the right token";

/** How many connections the tortured server takes. */
export const MOST_CONNECTIONS = 300;

/** How much hostility there is. */
export interface Amounts {
  /** Bytes of what is far too large. */
  readonly huge: number;
  /** Bytes of what comes a byte at a time; at most a message. */
  readonly crumbs: number;
  /** How often something is tried. */
  readonly many: number;
}

/** What a hostile peer works with. */
export interface HostileContext {
  readonly harness: Harness;
  /** The path of its Unix socket. */
  readonly unix: string;
  readonly random: Random;
  readonly amounts: Amounts;
}

/** Something a hostile peer does, with what has to come of it. */
export interface Hostility {
  readonly name: string;
  run(context: HostileContext): Promise<void>;
}

/** What may live in the server beyond what lived there before: buffers have bounds, and they add up to less. */
export const MOST_LIVE = 48 * 2 ** 20;
const LOOK_MS = 100;

/** Runs something while looking at the server's memory; gives the most that lived there, beyond the start. */
export async function bounded(harness: Harness, run: () => Promise<void>): Promise<number> {
  const before = await harness.report();
  let most = before.live;
  let over = false;
  const look = async () => {
    while (!over) {
      most = Math.max(most, (await harness.report()).live);
      await pause(LOOK_MS);
    }
  };
  const looking = look();
  try {
    await Promise.race([run(), harness.died]);
  } finally {
    over = true;
    await looking;
  }
  if (most - before.live > MOST_LIVE)
    throw new Error(`${megabytes(most - before.live)} more lived in the server`);
  return most - before.live;
}
