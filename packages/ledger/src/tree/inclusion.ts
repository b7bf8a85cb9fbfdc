import { LedgerError } from "../ledger-error.ts";
import { largestPowerBelow, type NodeSource, rangeRoot } from "./nodes.ts";

/** The hashes that lead from leaf `index` to the root of the first `size` leaves, RFC 6962 §2.1.1. */
export function inclusionProof(index: number, size: number, node: NodeSource): Uint8Array[] {
  if (!(index >= 0 && index < size))
    throw new LedgerError("invalid", `there is no leaf ${index} in a tree of ${size}`);
  return path(index, 0, size, node);
}

function path(index: number, start: number, end: number, node: NodeSource): Uint8Array[] {
  if (end - start === 1) return [];
  const split = start + largestPowerBelow(end - start);
  return index < split
    ? [...path(index, start, split, node), rangeRoot(split, end, node)]
    : [...path(index, split, end, node), rangeRoot(start, split, node)];
}
