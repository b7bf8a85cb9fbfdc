import { toHex } from "../bytes/hex.ts";
import { blake3 } from "../hash/blake3.ts";
import type { Complaint, Place } from "../report/fault.ts";
import type { Findings } from "../report/findings.ts";
import type { Reference } from "./references.ts";

/** The salt in front of the content. */
const SALT = 32;

/** What is known of a piece of private content. */
interface Piece {
  readonly size: number;
  /** The first entry that refers to it. */
  readonly place: Place;
  present: boolean;
}

/** The private content that entries refer to, and which of it is at hand. */
export class PrivateContent {
  readonly #findings: Findings;
  readonly #pieces = new Map<string, Piece>();
  #withheld = 0;

  constructor(findings: Findings) {
    this.#findings = findings;
  }

  /** How many pieces are not at hand. */
  get withheld(): number {
    return this.#withheld;
  }

  /** Takes a reference in an entry; tells whether it is the first to that content. */
  refer({ digest, size }: Reference, place: Place): boolean {
    const known = this.#pieces.get(digest);
    if (known === undefined) {
      this.#pieces.set(digest, { size, place, present: false });
      this.#withheld += 1;
      return true;
    }
    if (known.size !== size) {
      this.#findings.fault(place, {
        code: "private_size",
        message: `the entry states another size for the private content ${digest} than an earlier one`,
        expected: `${known.size}`,
        found: `${size}`,
      });
    }
    return false;
  }

  /** Takes the salt and content that is said to have a digest. */
  provide(digest: string, bytes: Uint8Array, place: Place): void {
    this.provideHashed(digest, toHex(blake3(bytes)), bytes.length, place);
  }

  /** The same for content that was hashed already, salt included. */
  provideHashed(digest: string, actual: string, length: number, place: Place): void {
    const piece = this.#pieces.get(digest);
    if (piece === undefined) {
      this.#findings.fault(place, {
        code: "artifact_unreferenced",
        message: "no earlier entry refers to this artifact",
        found: digest,
      });
      return;
    }
    // The entry whose content it is gets named, not only the line that holds the content.
    const here = { ...piece.place, ...(place.line !== undefined && { line: place.line }) };
    if (piece.present) {
      this.#findings.fault(here, {
        code: "artifact_repeated",
        message: "an artifact is there twice",
        found: digest,
      });
      return;
    }
    piece.present = true;
    this.#withheld -= 1;
    const complaint = contentComplaint(digest, actual, length, piece.size);
    if (complaint !== undefined) this.#findings.fault(here, complaint);
  }
}

function contentComplaint(
  digest: string,
  actual: string,
  length: number,
  size: number,
): Complaint | undefined {
  if (actual !== digest) {
    const message = "the private content of the entry was changed";
    return { code: "artifact_mismatch", message, expected: digest, found: actual };
  }
  if (length - SALT === size) return undefined;
  return {
    code: "private_size",
    message: "the private content has another size than the entry states",
    expected: `${size} bytes`,
    found: `${length - SALT} bytes`,
  };
}
