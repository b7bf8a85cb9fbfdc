import { LedgerError } from "../ledger-error.ts";
import { largestPowerBelow, type NodeSource, rangeRoot } from "./nodes.ts";

/** The hashes that show that a tree of `size` leaves begins with the tree of `earlier` leaves, RFC 6962 §2.1.2. */
export function consistencyProof(earlier: number, size: number, node: NodeSource): Uint8Array[] {
  if (!(earlier >= 0 && earlier <= size)) {
    throw new LedgerError("invalid", `a tree of ${size} leaves does not extend one of ${earlier}`);
  }
  return earlier === 0 || earlier === size ? [] : subproof(earlier, 0, size, true, node);
}

function subproof(
  earlier: number,
  start: number,
  end: number,
  whole: boolean,
  node: NodeSource,
): Uint8Array[] {
  if (earlier === end) return whole ? [] : [rangeRoot(start, end, node)];
  const split = start + largestPowerBelow(end - start);
  return earlier <= split
    ? [...subproof(earlier, start, split, whole, node), rangeRoot(split, end, node)]
    : [...subproof(earlier, split, end, false, node), rangeRoot(start, split, node)];
}
