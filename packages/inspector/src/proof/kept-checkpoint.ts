import { z } from "zod";

const Kept = z.object({ logKey: z.string(), size: z.int(), note: z.string(), at: z.string() });

/** The last checkpoint that this browser saw and found to follow from those before it. */
export type KeptCheckpoint = z.infer<typeof Kept>;

const KEY = "reins.checkpoint";

/** What this browser keeps; nothing before its first look at a ledger. */
export function keptCheckpoint(): KeptCheckpoint | undefined {
  const text = localStorage.getItem(KEY);
  if (text === null) return undefined;
  try {
    return Kept.parse(JSON.parse(text));
  } catch {
    // What cannot be read cannot be held against anybody: the next look counts as the first.
    return undefined;
  }
}

/** Of what is kept and a checkpoint that was found to follow from something, what to keep: another tab may have seen more. */
export function newerOf(kept: KeptCheckpoint | undefined, found: KeptCheckpoint): KeptCheckpoint {
  return kept && kept.logKey === found.logKey && kept.size > found.size ? kept : found;
}

/** Keeps a checkpoint in place of the one before. */
export function keepCheckpoint(checkpoint: KeptCheckpoint): void {
  localStorage.setItem(KEY, JSON.stringify(checkpoint));
}
