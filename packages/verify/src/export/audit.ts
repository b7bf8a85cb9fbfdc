import { fromBase64 } from "../bytes.ts";
import { type Entry, type InspectedEntry, inspectEntry } from "../entry/entry.ts";
import { isAttestation } from "../entry/proof.ts";
import { isObject, type JsonValue, PlainError, parseJson } from "../json/parse.ts";
import { repetition } from "../json/strict.ts";
import {
  firstEntryComplaint,
  KeyRegister,
  keyChangeOf,
  missingAttestation,
  wrongHolder,
  wrongSignature,
} from "../keys.ts";
import { trustOf, type VerifyOptions } from "../note.ts";
import {
  type ArtifactSource,
  checkArtifact,
  mayRefer,
  PrivateContent,
  type Reference,
  referencesIn,
} from "../private-content.ts";
import {
  type Complaint,
  type FaultCode,
  Findings,
  type Location,
  type Report,
  remarksOn,
} from "../report.ts";
import { PendingChecks, type SignatureChecker, webCrypto } from "../signature.ts";
import { Log } from "./log.ts";
import type { Line, WitnessedLine } from "./read.ts";
import {
  type ArtifactRecord,
  type EntryRecord,
  type ExportRecord,
  type Header,
  isAsWritten,
  isRecord,
  recordMismatches,
} from "./record.ts";

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
class EntryAudit {
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

/** What an audit may know beside the lines. */
export interface AuditSettings extends VerifyOptions {
  /** Where private content lies, unless the export carries it. */
  readonly artifacts?: ArtifactSource;
  /** How signatures are checked; with WebCrypto unless given. */
  readonly signatures?: SignatureChecker;
}

/** Enough signatures under way to keep every core at work. */
const SIGNATURES_AT_ONCE = 1_024;
const FILES_AT_ONCE = 16;

/** Goes through an export line by line, and never stops at a fault. */
export class ExportAudit {
  readonly #settings: AuditSettings;
  readonly #findings: Findings;
  readonly #signatures = new PendingChecks(SIGNATURES_AT_ONCE);
  readonly #files = new PendingChecks(FILES_AT_ONCE);
  readonly #private: PrivateContent;
  readonly #entries: EntryAudit;
  readonly #log: Log;
  #line = 0;
  #nextSeq = 0;
  #headed = false;
  #size: number | undefined;
  #ended = false;

  constructor(settings: AuditSettings) {
    this.#settings = settings;
    this.#findings = new Findings(settings.maxFaults);
    this.#private = new PrivateContent(this.#findings);
    this.#entries = new EntryAudit(
      this.#findings,
      this.#signatures,
      settings.signatures ?? webCrypto,
      this.#private,
    );
    this.#log = new Log(trustOf(settings), this.#findings, this.#signatures);
  }

  /** How many entries came so far. */
  get entries(): number {
    return this.#log.entries;
  }

  /** How many entries there will be, by the header's word. */
  get total(): number | undefined {
    return this.#size;
  }

  /** Whether to wait for {@link room} before the next line. */
  get busy(): boolean {
    return this.#signatures.full || this.#files.full;
  }

  /** Resolves when there is room for more checks. */
  async room(): Promise<void> {
    if (this.#signatures.full) await this.#signatures.room();
    if (this.#files.full) await this.#files.room();
  }

  /** Takes the next line. */
  take(line: Line): void {
    this.#line += 1;
    const place = { line: this.#line };
    if (typeof line !== "string" && "code" in line) this.#findings.fault(place, line);
    else if (this.#ended) this.#fault(place, "after_end", "there is more behind the end of the export");
    else if (typeof line === "string") this.#takeText(line, place);
    else this.#takeText(line.text, place, line);
  }

  /** Waits for what is under way and returns the report. */
  async finish(): Promise<Report> {
    await this.#signatures.settled();
    await this.#files.settled();
    if (!this.#headed) this.#fault({ line: 1 }, "header_missing", "the export does not start with a header");
    if (!this.#ended) this.#fault({}, "end_missing", "the export is cut off: its last line is missing");
    this.#checkSize(this.#size, {});
    const seen = await this.#log.finish();
    const report = {
      entries: this.#log.entries,
      checkpoints: this.#log.checkpoints,
      signatures: this.#entries.signatures,
      withheld: this.#private.withheld,
      logKey: this.#log.logKey,
      pinned: this.#log.pinned,
      checkpoint: this.#log.checkpoint,
      seen,
    };
    for (const remark of remarksOn(report)) this.#findings.remark(remark);
    const { clean, faults, unlisted, remarks } = this.#findings;
    return { ok: clean, ...report, faults, unlisted, remarks };
  }

  #takeText(text: string, place: Location, witness?: WitnessedLine): void {
    const value = this.#parse(text, place);
    if (value === undefined) return;
    if (!isRecord(value)) this.#takeMalformed(value, place);
    else if (value.kind !== "entry") this.#takeRecord(value, place);
    else {
      const inspected = this.#takeEntry(value, place);
      for (const one of witness?.compare(inspected) ?? []) this.#findings.fault(inspected.place, one);
      // The usual case, recognized without looking at every character.
      if (isAsWritten(text, value.seq, inspected)) return;
    }
    this.#checkRepetition(text, value, place);
  }

  #parse(text: string, place: Location): JsonValue | undefined {
    try {
      return parseJson(text);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      this.#fault(place, "line_not_json", `the line is not JSON: ${error.message}`);
      return undefined;
    }
  }

  #checkRepetition(text: string, value: JsonValue, place: Location): void {
    const here = isRecord(value) && value.kind === "entry" ? { ...place, seq: value.seq } : place;
    try {
      const name = repetition(text, value);
      if (name === undefined) return;
      const message = `the member ${JSON.stringify(name)} is there twice: readers differ on which counts`;
      this.#fault(here, "member_repeated", message);
    } catch (error) {
      if (!(error instanceof PlainError)) throw error;
      this.#fault(here, "line_malformed", `the line holds ${error.message}`);
    }
  }

  #takeRecord(record: Exclude<ExportRecord, EntryRecord>, place: Location): void {
    switch (record.kind) {
      case "checkpoint":
        this.#log.check(record.note, place);
        break;
      case "artifact":
        this.#takeArtifact(record, place);
        break;
      case "header":
        this.#takeHeader(record, place);
        break;
      case "end":
        this.#ended = true;
        this.#checkSize(record.size, place);
    }
  }

  #takeHeader(header: Header, place: Location): void {
    if (this.#line > 1)
      this.#fault(place, "header_misplaced", "a header stands elsewhere than in the first line");
    if (this.#headed) return;
    this.#headed = true;
    this.#size = header.size;
    this.#log.open(header, place);
  }

  #takeEntry({ seq, entry }: EntryRecord, place: Location): InspectedEntry {
    const here = { ...place, seq };
    const { artifacts } = this.#settings;
    const inspected = this.#entries.check(entry, here, ({ digest }, at) => {
      if (artifacts !== undefined) this.#files.add(checkArtifact(artifacts, digest, at, this.#private));
    });
    if (seq !== this.#nextSeq) {
      this.#findings.fault(inspected.place, {
        code: "seq_mismatch",
        message: "the entries are not numbered without gaps: one was removed, added or moved here",
        expected: `${this.#nextSeq}`,
        found: `${seq}`,
      });
    }
    // Counting on from what was found keeps one gap from being reported for every entry behind it.
    this.#nextSeq = seq + 1;
    this.#log.append(inspected.leaf);
    return inspected;
  }

  #takeArtifact({ digest, bytes }: ArtifactRecord, place: Location): void {
    const content = fromBase64(bytes);
    if (content === undefined) this.#fault(place, "line_malformed", "the artifact is not base64");
    else this.#private.provide(digest, content, place);
  }

  #takeMalformed(value: JsonValue, place: Location): void {
    for (const one of recordMismatches(value)) {
      this.#findings.fault(place, { ...one, code: "line_malformed", message: `the line ${one.message}` });
    }
    if (!isObject(value)) return;
    // The line is a fault already; what can be made of it keeps that from being repeated by the lines behind it.
    if (value.kind === "header") this.#headed = true;
    if (value.kind === "end") this.#ended = true;
    if (value.kind !== "entry" || value.entry === undefined) return;
    this.#takeEntry({ kind: "entry", seq: this.#nextSeq, entry: value.entry }, place);
  }

  #checkSize(size: number | undefined, place: Location): void {
    if (size === undefined || size === this.#log.entries) return;
    this.#findings.fault(place, {
      code: "size_mismatch",
      message: "there are not as many entries as the export says",
      expected: `${size}`,
      found: `${this.#log.entries}`,
    });
  }

  #fault(place: Location, code: FaultCode, message: string): void {
    this.#findings.fault(place, { code, message });
  }
}
