/** Why nothing could be verified at all. What is wrong with a ledger is a fault in the report, never an error. */
export type VerifyErrorCode =
  | "bad_option"
  | "unreadable"
  | "unreachable"
  | "refused"
  | "no_ledger"
  | "no_webcrypto";

/** Thrown when there is nothing to verify or nothing to verify with. */
export class VerifyError extends Error {
  override readonly name = "VerifyError";
  readonly code: VerifyErrorCode;
  /** Whether trying again, with nothing changed, can help. */
  readonly retryable: boolean;

  constructor(
    code: VerifyErrorCode,
    message: string,
    options: { readonly retryable?: boolean; readonly cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.retryable = options.retryable ?? false;
  }
}

/** What is wrong, in a form that stays the same between versions. */
export type FaultCode =
  // The stream.
  | "stream_broken"
  | "gzip_invalid"
  | "line_too_long"
  | "line_not_utf8"
  | "line_not_json"
  | "line_malformed"
  | "member_repeated"
  | "header_missing"
  | "header_misplaced"
  | "end_missing"
  | "after_end"
  | "size_mismatch"
  | "seq_mismatch"
  // Entries.
  | "entry_malformed"
  | "entry_not_plain"
  | "entry_too_large"
  | "entry_not_canonical"
  | "cid_mismatch"
  | "chain_broken"
  | "copy_mismatch"
  // Proofs and keys.
  | "proof_malformed"
  | "attestation_missing"
  | "signature_invalid"
  | "key_unknown"
  | "key_retired"
  | "key_holder"
  | "key_malformed"
  | "key_repeated"
  | "key_not_by_system"
  | "first_entry"
  // Envelopes and private content.
  | "envelope_malformed"
  | "envelope_open"
  | "private_size"
  | "artifact_mismatch"
  | "artifact_unreferenced"
  | "artifact_repeated"
  // The log.
  | "log_key_malformed"
  | "log_key_mismatch"
  | "origin_mismatch"
  | "checkpoint_malformed"
  | "checkpoint_signature"
  | "checkpoint_order"
  | "checkpoint_misplaced"
  | "root_mismatch"
  | "entries_uncovered"
  // An earlier checkpoint.
  | "seen_signature"
  | "seen_shorter"
  | "seen_forked"
  // Proof files.
  | "file_malformed"
  | "inclusion_invalid"
  | "key_proof_missing"
  | "key_proof_unexpected";

/** One thing that is wrong, and where. */
export interface Fault {
  readonly code: FaultCode;
  /** The position of the entry, as the ledger reports it. */
  readonly seq?: number;
  /** The entry's content id, as the ledger says. */
  readonly cid?: string;
  /** The line of the export, from 1. */
  readonly line?: number;
  /** For a person. */
  readonly message: string;
  readonly expected?: string;
  readonly found?: string;
}

/** Where a fault lies. */
export type Location = Pick<Fault, "line" | "seq" | "cid">;

/** What a fault says, apart from where it lies. */
export type Complaint = Pick<Fault, "code" | "message" | "expected" | "found">;

/** What became of a comparison with a checkpoint from an earlier day. */
export interface SeenResult {
  /** Whether the comparison could be made. */
  readonly checked: boolean;
  /** Whether the ledger is the one that was seen, with at most entries added. */
  readonly holds: boolean;
  /** How many entries the ledger had then. */
  readonly size?: number;
}

/** What was found. */
export interface Report {
  /** Whether everything holds. */
  readonly ok: boolean;
  /** How many entries were read. */
  readonly entries: number;
  /** How many checkpoints were read. */
  readonly checkpoints: number;
  /** How many signatures under entries were checked and hold. */
  readonly signatures: number;
  /** How many pieces of private content are not at hand, so that only their digests are known. */
  readonly withheld: number;
  /** The verifier key that checkpoints were checked with. */
  readonly logKey: string | null;
  /** Whether the caller gave that key; otherwise it is the ledger's own word. */
  readonly pinned: boolean;
  /** The last checkpoint that holds: keep it, and give it as `seen` the next time. */
  readonly checkpoint: string | null;
  readonly seen: SeenResult;
  readonly faults: readonly Fault[];
  /** How many faults there are beyond those listed. */
  readonly unlisted: number;
  /** What a verdict of "ok" does not cover. */
  readonly remarks: readonly string[];
}

/** What a verdict on these figures does not cover. */
export function* remarksOn(
  report: Pick<Report, "entries" | "withheld" | "pinned" | "seen">,
): Generator<string> {
  if (report.entries === 0) yield "there are no entries";
  if (!report.pinned) {
    yield "the log key was taken from the ledger itself; compare it with one you know from elsewhere, or give that one";
  }
  if (!report.seen.checked) {
    yield "without an earlier checkpoint a shortened or rolled-back log cannot be ruled out";
  }
  if (report.withheld > 0) {
    yield "withheld private content is known by its digest only; its entries verify all the same";
  }
}

/** How many faults a report lists by default. */
const FAULT_LIMIT = 1_000;

/** Longer values are cut when they are shown. */
const SHOWN = 200;

/** Everything found so far: so many faults in full, the others by number. */
export class Findings {
  readonly #limit: number;
  readonly #faults: Fault[] = [];
  readonly #remarks = new Set<string>();
  #unlisted = 0;

  constructor(limit = FAULT_LIMIT) {
    this.#limit = limit;
  }

  /** Notes a fault. */
  fault(place: Location, complaint: Complaint): void {
    if (this.#faults.length >= this.#limit) {
      this.#unlisted += 1;
      return;
    }
    const { expected, found, ...said } = complaint;
    this.#faults.push({
      ...said,
      ...place,
      ...(expected !== undefined && { expected: shorten(expected) }),
      ...(found !== undefined && { found: shorten(found) }),
    });
  }

  /** Notes what the verdict does not cover. The same remark twice is one. */
  remark(text: string): void {
    this.#remarks.add(text);
  }

  /** Whether nothing is wrong. */
  get clean(): boolean {
    return this.#faults.length + this.#unlisted === 0;
  }

  get unlisted(): number {
    return this.#unlisted;
  }

  get remarks(): string[] {
    return [...this.#remarks];
  }

  /** The faults in the order of the export's lines; signatures are checked later than what surrounds them. */
  get faults(): Fault[] {
    return this.#faults.toSorted((left, right) => (left.line ?? Infinity) - (right.line ?? Infinity) || 0);
  }
}

function shorten(text: string): string {
  return text.length <= SHOWN ? text : `${text.slice(0, SHOWN).toWellFormed()}… (${text.length} characters)`;
}

/** A report for a person. The last line is the verdict. */
export function formatReport(report: Report): string {
  const lines = [
    ...report.faults.flatMap(formatFault),
    ...(report.unlisted > 0 ? [`and ${plural(report.unlisted, "more fault")}`] : []),
    ...(report.faults.length > 0 ? [""] : []),
    summary(report),
    logKey(report),
    ...seen(report),
    ...report.remarks.map((remark) => `note: ${remark}`),
    verdict(report),
  ];
  return lines.map(printable).join("\n");
}

function formatFault(fault: Fault): string[] {
  const lines = [`${place(fault)}: ${fault.message} [${fault.code}]`];
  if (fault.expected !== undefined) lines.push(`    expected ${fault.expected}`);
  if (fault.found !== undefined) lines.push(`    found    ${fault.found}`);
  return lines;
}

function place({ seq, cid, line }: Fault): string {
  if (seq !== undefined) return `entry ${seq}${cid === undefined ? "" : ` (${cid.slice(0, 16)})`}`;
  if (cid !== undefined) return `entry ${cid.slice(0, 16)}`;
  return line === undefined ? "ledger" : `line ${line}`;
}

function summary({ entries, checkpoints, signatures, withheld }: Report): string {
  const parts = [
    plural(entries, "entry", "entries"),
    plural(checkpoints, "checkpoint"),
    plural(signatures, "valid signature"),
    `${plural(withheld, "piece")} of private content withheld`,
  ];
  return `checked: ${parts.join(", ")}`;
}

function logKey({ logKey: key, pinned }: Report): string {
  if (key === null) return "log key: none";
  return `log key: ${key} (${pinned ? "as you gave it" : "as the ledger states it"})`;
}

function seen({ seen: { checked, holds, size } }: Report): string[] {
  if (!checked) return [];
  return [
    holds
      ? `seen before: extends the ledger you saw at size ${size}`
      : `seen before: NOT the ledger you saw at size ${size}`,
  ];
}

function verdict({ ok, faults: [first], faults, unlisted }: Report): string {
  if (ok) return "VERIFIED: everything holds";
  const count = plural(faults.length + unlisted, "fault");
  return first === undefined
    ? `NOT VERIFIED: ${count}`
    : `NOT VERIFIED: ${count}, the first at ${place(first)}`;
}

function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en-US")} ${count === 1 ? one : many}`;
}

/** Characters that a terminal obeys, or that reorder text, are shown by their code: what is printed comes from strangers. */
function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}
