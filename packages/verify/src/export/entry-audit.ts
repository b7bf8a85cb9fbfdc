import type { Entry } from "../entry/entry.ts";
import { type InspectedEntry, inspectEntry } from "../entry/inspect.ts";
import { isAttestation } from "../entry/proof.ts";
import { isObject, type JsonValue } from "../json/parse.ts";
import {
  firstEntryComplaint,
  KeyRegister,
  keyChangeOf,
  missingAttestation,
  wrongHolder,
  wrongSignature,
} from "../keys.ts";
import { mayRefer, type PrivateContent, type Reference, referencesIn } from "../private-content.ts";
import type { Complaint, Findings, Location } from "../report.ts";
import type { PendingChecks, SignatureChecker } from "../signature.ts";

/** What the next entry of a session has to name as its parent. */
interface Head {
  last: string;
  turn: string | undefined;
}

/** The parts of an entry that make a chain. */
type Link = Pick<Entry, "cid" | "entity_id" | "quality" | "parents">;

/** The chains of a ledger, one for each session. */
class Chain {
  readonly #heads = new Map<string, Head>();

  /** Takes the next entry; reports parents that are not those that its session leads to. */
  follow({ cid, entity_id, quality, parents }: Link): Complaint | undefined {
    const head = this.#heads.get(entity_id);
    const expected = quality === "turn" ? head?.turn : head?.last;
    if (head === undefined) {
      this.#heads.set(entity_id, { last: cid, turn: quality === "turn" ? cid : undefined });
    } else {
      head.last = cid;
      if (quality === "turn") head.turn = cid;
    }
    const holds =
      expected === undefined ? parents.length === 0 : parents.length === 1 && parents[0] === expected;
    if (holds) return undefined;
    const wanted = quality === "turn" ? "the session's previous turn" : "the session's previous entry";
    return {
      code: "chain_broken",
      message: `the entry does not follow ${wanted}: something was removed, added, moved or changed`,
      expected: JSON.stringify(expected === undefined ? [] : [expected]),
      found: JSON.stringify(parents),
    };
  }
}

/** Checks entries one after the other: each by itself, its place in its chain, its keys and its signature. */
export class EntryAudit {
  readonly #findings: Findings;
  readonly #pending: PendingChecks;
  readonly #checker: SignatureChecker;
  readonly #private: PrivateContent;
  readonly #chain = new Chain();
  readonly #keys = new KeyRegister();
  #position = 0;
  #signatures = 0;

  constructor(
    findings: Findings,
    pending: PendingChecks,
    checker: SignatureChecker,
    privateContent: PrivateContent,
  ) {
    this.#findings = findings;
    this.#pending = pending;
    this.#checker = checker;
    this.#private = privateContent;
  }

  /** How many signatures hold so far. */
  get signatures(): number {
    return this.#signatures;
  }

  /** Checks the next entry; calls back for each piece of private content that nothing before it refers to. */
  check(
    value: JsonValue,
    place: Location,
    onReference?: (reference: Reference, place: Location) => void,
  ): InspectedEntry {
    const inspected = inspectEntry(value, place, this.#findings);
    const { entry, content } = inspected;
    if (entry === undefined) this.#followMalformed(value);
    else {
      this.#complain(inspected.place, this.#chain.follow(entry));
      this.#checkKeys(entry, inspected);
      if (content !== undefined && mayRefer(content.body)) {
        for (const reference of referencesIn(entry.payload)) {
          if (this.#private.refer(reference, inspected.place)) onReference?.(reference, inspected.place);
        }
      }
    }
    this.#position += 1;
    return inspected;
  }

  /** Goes on behind an entry that is malformed, so that its fault is not repeated by the entry after it. */
  #followMalformed(value: JsonValue): void {
    if (!isObject(value)) return;
    const { cid, entity_id, quality } = value;
    if (typeof cid !== "string" || typeof entity_id !== "string") return;
    this.#chain.follow({ cid, entity_id, quality: typeof quality === "string" ? quality : "", parents: [] });
  }

  #checkKeys(entry: Entry, inspected: InspectedEntry): void {
    const { place } = inspected;
    const change = entry.quality === "policy_change" ? keyChangeOf(entry) : undefined;
    const first = this.#position === 0;
    if (first) this.#complain(place, firstEntryComplaint(entry, change));
    // Only the first entry may be signed with the key that it announces.
    if (first && change !== undefined) this.#complain(place, ...this.#keys.apply(change));
    this.#checkAttestation(entry, inspected);
    if (!first && change !== undefined) this.#complain(place, ...this.#keys.apply(change));
  }

  #checkAttestation(entry: Entry, { place, content }: InspectedEntry): void {
    this.#complain(place, missingAttestation(entry));
    if (!isAttestation(entry.proof)) return;
    const key = this.#keys.find(entry.proof.key_id);
    if ("code" in key) {
      this.#complain(place, key);
      return;
    }
    this.#complain(place, wrongHolder(entry, key));
    if (content === undefined) return;
    const check = wrongSignature(entry.proof, content, key, this.#checker).then((complaint) => {
      if (complaint === undefined) this.#signatures += 1;
      else this.#findings.fault(place, complaint);
    });
    this.#pending.add(check);
  }

  #complain(place: Location, ...complaints: readonly (Complaint | undefined)[]): void {
    for (const one of complaints) if (one !== undefined) this.#findings.fault(place, one);
  }
}
