import { sameBytes, toBase64 } from "../bytes.ts";
import { type InspectedEntry, inspectEntry } from "../entry/inspect.ts";
import { isAttestation } from "../entry/proof.ts";
import { leafHash } from "../hashes.ts";
import {
  firstEntryComplaint,
  type Key,
  type KeyChange,
  keyChangeOf,
  missingAttestation,
  wrongHolder,
  wrongSignature,
} from "../keys.ts";
import type { Checkpoint } from "../note.ts";
import { referencesIn } from "../private-content.ts";
import type { Complaint, Findings, Location } from "../report.ts";
import { webCrypto } from "../signature.ts";
import { rootFromInclusion } from "../tree.ts";
import { hashesOf, type ProofFile, type ProvedEntry, readProvedKey } from "./proof-file.ts";

/** Checks the entry of a proof file, and the announcement of the key that signed it. */
export class ProofAudit {
  readonly #findings: Findings;
  #entries = 0;
  #signatures = 0;
  #withheld = 0;

  constructor(findings: Findings) {
    this.#findings = findings;
  }

  get entries(): number {
    return this.#entries;
  }

  get signatures(): number {
    return this.#signatures;
  }

  get withheld(): number {
    return this.#withheld;
  }

  /** Checks everything a proof file shows beside its checkpoint. */
  async check(file: ProofFile, checkpoint: Checkpoint): Promise<void> {
    const proved = this.#checkIncluded(file, checkpoint);
    const { entry } = proved;
    if (entry === undefined) return;
    this.#withheld += new Set([...referencesIn(entry.payload)].map(({ digest }) => digest)).size;
    this.#complain(proved.place, missingAttestation(entry));
    const change = keyChangeOf(entry);
    if (file.index === 0) this.#complain(proved.place, firstEntryComplaint(entry, change));
    if (change !== undefined) this.#complain(proved.place, ...change.complaints);
    if (!isAttestation(entry.proof)) {
      if (file.key !== null) this.#unexpectedKey(proved.place);
      return;
    }
    const key = await this.#keyOf(file, change, checkpoint, proved.place);
    if (key === undefined) return;
    if (key.id !== entry.proof.key_id) {
      const message = "the proof of the key is of another key than the one that signed";
      this.#complain(proved.place, {
        code: "key_unknown",
        message,
        expected: entry.proof.key_id,
        found: key.id,
      });
      return;
    }
    await this.#checkSigned(proved, key);
    this.#findings.remark("a proof of one entry cannot show whether its key had been retired before");
  }

  /** The key that signed: announced by the entry itself when it is the first, proved beside it otherwise. */
  async #keyOf(
    file: ProofFile,
    change: KeyChange | undefined,
    checkpoint: Checkpoint,
    place: Location,
  ): Promise<Key | undefined> {
    if (file.index === 0 && change?.added !== undefined) {
      if (file.key !== null) this.#unexpectedKey(place);
      return change.added;
    }
    if (file.key === null) {
      const message = "the entry is signed, but the announcement of the key is not proved";
      this.#complain(place, { code: "key_proof_missing", message });
      return undefined;
    }
    const provedKey = readProvedKey(file.key, this.#findings);
    return provedKey && this.#announced(provedKey, file.index, checkpoint);
  }

  async #announced(provedKey: ProvedEntry, before: number, checkpoint: Checkpoint): Promise<Key | undefined> {
    const inspected = this.#checkIncluded(provedKey, checkpoint);
    const { entry, place } = inspected;
    const change = entry && keyChangeOf(entry);
    if (entry !== undefined) this.#complain(place, missingAttestation(entry), ...(change?.complaints ?? []));
    if (change?.added === undefined) {
      this.#complain(place, { code: "key_unknown", message: "the entry announces no key" });
    }
    if (entry !== undefined && change?.added !== undefined && provedKey.index === 0) {
      this.#complain(place, firstEntryComplaint(entry, change));
      await this.#checkSigned(inspected, change.added);
    }
    if (provedKey.index >= before) {
      this.#complain(place, {
        code: "key_unknown",
        message: "the key was announced after the entry that it signed",
        expected: `an entry before ${before}`,
        found: `${provedKey.index}`,
      });
    }
    return change?.added;
  }

  #checkIncluded(proved: ProvedEntry, { size, root }: Checkpoint): InspectedEntry {
    this.#entries += 1;
    const inspected = inspectEntry(proved.entry, { seq: proved.index }, this.#findings);
    const reached = rootFromInclusion(leafHash(inspected.leaf), proved.index, size, hashesOf(proved));
    if (reached === undefined || !sameBytes(reached, root)) {
      this.#complain(inspected.place, {
        code: "inclusion_invalid",
        message: `the entry is not proved to be number ${proved.index} of the ${size} that the log signed`,
        expected: `a path to the root ${toBase64(root)}`,
        found: reached === undefined ? `a path of ${proved.hashes.length} hashes` : toBase64(reached),
      });
    }
    return inspected;
  }

  async #checkSigned({ entry, content, place }: InspectedEntry, key: Key): Promise<void> {
    if (entry === undefined || content === undefined || !isAttestation(entry.proof)) return;
    this.#complain(place, wrongHolder(entry, key));
    const complaint = await wrongSignature(entry.proof, content, key, webCrypto);
    if (complaint === undefined) this.#signatures += 1;
    this.#complain(place, complaint);
  }

  #unexpectedKey(place: Location): void {
    const message = "a key is proved that the entry has no use for";
    this.#complain(place, { code: "key_proof_unexpected", message, expected: "null" });
  }

  #complain(place: Location, ...complaints: readonly (Complaint | undefined)[]): void {
    for (const one of complaints) if (one !== undefined) this.#findings.fault(place, one);
  }
}
