import { fromBase64 } from "../bytes.ts";
import type { InspectedEntry } from "../entry/inspect.ts";
import { isObject, type JsonValue, PlainError, parseJson } from "../json/parse.ts";
import { repetition } from "../json/strict.ts";
import { trustOf, type VerifyOptions } from "../options.ts";
import { type ArtifactSource, checkArtifact, PrivateContent } from "../private-content.ts";
import { type FaultCode, Findings, type Location, type Report, remarksOn } from "../report.ts";
import { PendingChecks, type SignatureChecker, webCrypto } from "../signature.ts";
import { EntryAudit } from "./entry-audit.ts";
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
