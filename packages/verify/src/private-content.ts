import { blake3, blake3Stream, toHex } from "./bytes.ts";
import type { JsonObject, JsonValue } from "./json/parse.ts";
import { COUNT, DIGEST, fits, OBJECT, type Shape } from "./json/shape.ts";
import type { Complaint, Findings, Location } from "./report.ts";

/** Represents content in a payload that is kept beside the ledger. */
export type Reference = { digest: string; size: number };

const REFERENCE: Shape<Reference> = { digest: DIGEST, size: COUNT };
const PRIVATE: Shape<{ $private: JsonObject }> = { $private: OBJECT };

/** Whether canonical JSON can hold a reference at all, without walking through it. */
export function mayRefer(canonical: string): boolean {
  return canonical.includes('{"$private":{"digest":"');
}

/** The references in a payload. What only resembles one is ordinary content. */
export function* referencesIn(value: JsonValue): Generator<Reference> {
  if (typeof value !== "object" || value === null) return;
  if (fits(value, PRIVATE) && fits(value.$private, REFERENCE)) yield value.$private;
  for (const inner of Array.isArray(value) ? value : Object.values(value)) yield* referencesIn(inner);
}

/** The salt in front of the content. */
const SALT = 32;

/** What is known of a piece of private content. */
interface Piece {
  readonly size: number;
  /** The first entry that refers to it. */
  readonly place: Location;
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

  /** Adds a reference in an entry; returns whether it is the first to that content. */
  refer({ digest, size }: Reference, place: Location): boolean {
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
  provide(digest: string, bytes: Uint8Array, place: Location): void {
    this.provideHashed(digest, toHex(blake3(bytes)), bytes.length, place);
  }

  /** The same for content that was hashed already, salt included. */
  provideHashed(digest: string, actual: string, length: number, place: Location): void {
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

/** Where private content lies beside a ledger. */
export interface ArtifactSource {
  /** The salt and content with that digest, in pieces; nothing once it was erased. */
  open(digest: string): Promise<AsyncIterable<Uint8Array> | undefined>;
}

/** Looks for private content in a source and checks it if it is there. */
export async function checkArtifact(
  artifacts: ArtifactSource,
  digest: string,
  place: Location,
  privateContent: PrivateContent,
): Promise<void> {
  const pieces = await artifacts.open(digest);
  if (pieces === undefined) return;
  const hasher = blake3Stream();
  let length = 0;
  for await (const piece of pieces) {
    hasher.update(piece);
    length += piece.length;
  }
  privateContent.provideHashed(digest, toHex(hasher.finalize()), length, place);
}
