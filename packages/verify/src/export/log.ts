import { leafHash, sameBytes, toBase64 } from "../bytes.ts";
import { type Checkpoint, isSignedBy, type LogKey, readCheckpoint, readLogKey, type Trust } from "../note.ts";
import type { Findings, Location, SeenResult } from "../report.ts";
import type { PendingChecks } from "../signature.ts";
import { CompactRange } from "../tree.ts";
import type { Header } from "./record.ts";

/** A checkpoint from an earlier day, compared with the tree when that is as large as it was then. */
class SeenCheckpoint {
  readonly #checkpoint: Checkpoint;
  readonly #findings: Findings;
  #root: Uint8Array | undefined;

  constructor(checkpoint: Checkpoint, findings: Findings) {
    this.#checkpoint = checkpoint;
    this.#findings = findings;
  }

  /** Takes the tree whenever it has grown. */
  compare(tree: CompactRange): void {
    if (tree.size === this.#checkpoint.size) this.#root = tree.root();
  }

  /** Returns the result of the comparison, once there are no more entries. */
  async finish(entries: number, key: LogKey | undefined): Promise<SeenResult> {
    const { size, root } = this.#checkpoint;
    if (key === undefined || !(await isSignedBy(this.#checkpoint, key))) {
      this.#findings.fault(
        {},
        {
          code: "seen_signature",
          message:
            "the checkpoint seen before is not signed with this log's key: it is of another ledger, or the key was exchanged",
          ...(key !== undefined && { expected: `a signature with ${key.text}` }),
        },
      );
      return { checked: true, holds: false, size };
    }
    if (this.#root === undefined) {
      this.#findings.fault(
        { seq: entries },
        {
          code: "seen_shorter",
          message: "the ledger is shorter than it was when you saw it: it was cut off or rolled back",
          expected: `at least ${size} entries`,
          found: `${entries}`,
        },
      );
      return { checked: true, holds: false, size };
    }
    if (sameBytes(this.#root, root)) return { checked: true, holds: true, size };
    this.#findings.fault(
      {},
      {
        code: "seen_forked",
        message: `the first ${size} entries are not those you saw: history was rewritten`,
        expected: `the root ${toBase64(root)}`,
        found: toBase64(this.#root),
      },
    );
    return { checked: true, holds: false, size };
  }
}

/** The log over all entries: its tree, its key and its checkpoints. */
export class Log {
  readonly #findings: Findings;
  readonly #pending: PendingChecks;
  readonly #tree = new CompactRange();
  readonly #pinned: boolean;
  readonly #seen: SeenCheckpoint | undefined;
  #key: LogKey | undefined;
  #checkpoints = 0;
  /** The size of the last checkpoint; there was none yet below 0. */
  #lastSize = -1;
  /** The size up to which the tree is known to be the one that was signed. */
  #agreed = 0;
  #disagreeing = 0;
  #best: { readonly size: number; readonly note: string } | undefined;

  constructor(trust: Trust, findings: Findings, pending: PendingChecks) {
    this.#findings = findings;
    this.#pending = pending;
    this.#key = trust.key;
    this.#pinned = trust.key !== undefined;
    this.#seen = trust.seen && new SeenCheckpoint(trust.seen, findings);
    this.#seen?.compare(this.#tree);
  }

  get entries(): number {
    return this.#tree.size;
  }

  get checkpoints(): number {
    return this.#checkpoints;
  }

  /** The verifier key as it was written. */
  get logKey(): string | null {
    return this.#key?.text ?? null;
  }

  get pinned(): boolean {
    return this.#pinned;
  }

  /** The last checkpoint that holds, as a note. */
  get checkpoint(): string | null {
    return this.#best?.note ?? null;
  }

  /** Takes the key that the ledger states. */
  open({ origin, log_key }: Header, place: Location): void {
    const stated = readLogKey(log_key);
    if (stated === undefined) {
      this.#findings.fault(place, {
        code: "log_key_malformed",
        message: "the log key is not a verifier key",
        expected: "NAME+HASH+KEY of Ed25519",
        found: log_key,
      });
    } else if (this.#key !== undefined && this.#key.text !== log_key) {
      this.#findings.fault(place, {
        code: "log_key_mismatch",
        message: "the ledger states another log key than the one you gave",
        expected: this.#key.text,
        found: log_key,
      });
    }
    this.#key ??= stated;
    if (this.#key !== undefined && this.#key.name !== origin) this.#wrongOrigin(origin, this.#key, place);
  }

  /** Adds an entry by the bytes of its content id. */
  append(cid: Uint8Array): void {
    this.#tree.append(leafHash(cid));
    this.#seen?.compare(this.#tree);
  }

  /** Checks a checkpoint against the entries before it. */
  check(note: string, place: Location): void {
    this.#checkpoints += 1;
    const checkpoint = readCheckpoint(note);
    if (checkpoint === undefined) {
      this.#findings.fault(place, {
        code: "checkpoint_malformed",
        message: "the checkpoint is not a signed note of origin, size and root",
        found: note,
      });
      return;
    }
    const agrees = this.#isInOrder(checkpoint, place) && this.#agrees(checkpoint, place);
    this.#lastSize = Math.max(this.#lastSize, checkpoint.size);
    if (this.#key !== undefined)
      this.#pending.add(this.#checkSignature(checkpoint, note, this.#key, agrees, place));
  }

  /** Checks that nothing is left uncovered, and what became of the checkpoint seen before. */
  async finish(): Promise<SeenResult> {
    const covered = Math.max(this.#lastSize, 0);
    if (covered < this.entries) {
      this.#findings.fault(
        { seq: covered },
        {
          code: "entries_uncovered",
          message: "no checkpoint covers the last entries: anybody could have added them",
          expected: `a checkpoint of size ${this.entries}`,
          found: this.#lastSize < 0 ? "none" : `one of size ${covered}`,
        },
      );
    }
    if (this.#disagreeing > 1) {
      this.#findings.remark(
        `${this.#disagreeing - 1} later checkpoints disagree too, which follows from the first`,
      );
    }
    if (this.#seen === undefined) return { checked: false, holds: false };
    return this.#seen.finish(this.entries, this.#key);
  }

  #isInOrder({ size }: Checkpoint, place: Location): boolean {
    if (size <= this.#lastSize) {
      this.#findings.fault(place, {
        code: "checkpoint_order",
        message: "the checkpoint does not come in the order of sizes",
        expected: `a size above ${this.#lastSize}`,
        found: `${size}`,
      });
      return false;
    }
    if (size === this.entries) return true;
    this.#findings.fault(place, {
      code: "checkpoint_misplaced",
      message: "the checkpoint does not stand behind the entry that completes it",
      expected: `size ${this.entries}, as many entries as came before it`,
      found: `size ${size}`,
    });
    return false;
  }

  #agrees({ size, root }: Checkpoint, place: Location): boolean {
    const expected = this.#tree.root();
    if (sameBytes(root, expected)) {
      this.#agreed = size;
      return true;
    }
    this.#disagreeing += 1;
    if (this.#disagreeing > 1) return false;
    this.#findings.fault(
      { ...place, seq: this.#agreed },
      {
        code: "root_mismatch",
        message: `among the entries ${this.#agreed} to ${size - 1} some are not those that the log signed`,
        expected: `the root ${toBase64(expected)} of the entries at hand`,
        found: toBase64(root),
      },
    );
    return false;
  }

  async #checkSignature(
    checkpoint: Checkpoint,
    note: string,
    key: LogKey,
    agrees: boolean,
    place: Location,
  ): Promise<void> {
    if (checkpoint.origin !== key.name) return this.#wrongOrigin(checkpoint.origin, key, place);
    if (!(await isSignedBy(checkpoint, key))) {
      this.#findings.fault(place, {
        code: "checkpoint_signature",
        message: `the checkpoint of size ${checkpoint.size} is not signed with the log's key`,
        expected: `a signature with ${key.text}`,
      });
      return;
    }
    if (agrees && checkpoint.size >= (this.#best?.size ?? 0)) this.#best = { size: checkpoint.size, note };
  }

  #wrongOrigin(found: string, key: LogKey, place: Location): void {
    const message = "this is of another ledger than the log key is for";
    this.#findings.fault(place, { code: "origin_mismatch", message, expected: key.name, found });
  }
}
