import { sameBytes, toBase64 } from "../bytes.ts";
import { type Checkpoint, isSignedBy, type LogKey } from "../note.ts";
import type { Findings, SeenResult } from "../report.ts";
import type { CompactRange } from "../tree.ts";

/** A checkpoint from an earlier day, compared with the tree when that is as large as it was then. */
export class SeenCheckpoint {
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
