import type { Entry } from "../src/entry/entry.ts";
import type { JsonObject, JsonValue } from "../src/json/parse.ts";
import { treeRoot } from "./merkle.ts";
import { blake3Hex, Signer } from "./signer.ts";

/** A canonical form written for the tests alone, so that what they make does not come from what they test. */
export function jcs(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(jcs).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${jcs(member)}`).join(",")}}`;
}

/** What a test says of an entry; the rest follows. */
export interface Said {
  quality: string;
  entity?: string;
  payload?: JsonValue;
  /** Who acts; signs when the quality or {@link signed} demands it. */
  by?: Signer;
  signed?: boolean;
  proof?: JsonObject | null;
  envelope?: JsonObject | null;
  tags?: string[];
  target?: string;
  parents?: string[];
}

/** A line of an export, before it is text. */
export type ExportLine = JsonObject;

export const ORIGIN = "reins.test/ledger";
const ATTESTED = ["turn", "approval", "policy_change", "kill"];

/** Makes valid ledgers from the words of docs/ledger-format.md, with none of the verifier's code. */
export class LedgerMaker {
  readonly system = new Signer("reins:system");
  readonly log = new Signer("the log");
  readonly entries: Entry[] = [];
  readonly checkpoints: { size: number; note: string }[] = [];
  readonly #last = new Map<string, string>();
  readonly #lastTurn = new Map<string, string>();
  readonly #artifacts = new Map<string, { after: number; bytes: Buffer }>();

  constructor() {
    this.announce(this.system);
  }

  get logKey(): string {
    return this.log.verifierKey(ORIGIN);
  }

  get leaves(): Buffer[] {
    return this.entries.map(({ cid }) => Buffer.from(cid, "hex"));
  }

  /** Adds an entry. */
  append(said: Said): Entry {
    const entity = said.entity ?? "reins:system";
    const by = said.by ?? this.system;
    const turn = said.quality === "turn";
    const parent = (turn ? this.#lastTurn : this.#last).get(entity);
    const unsigned = {
      entity_id: entity,
      target: said.target ?? entity,
      quality: said.quality,
      timestamp: new Date(Date.UTC(2026, 10, 15, 5, 20) + this.entries.length * 7).toISOString(),
      source: entity,
      actor: by.holder,
      parents: said.parents ?? (parent === undefined ? [] : [parent]),
      tags: said.tags ?? [],
      payload: said.payload ?? null,
      proof: null,
      envelope: said.envelope ?? null,
    };
    const signs = said.signed ?? ATTESTED.includes(said.quality);
    const proof = said.proof ?? (signs ? attestation(unsigned, by) : null);
    const entry = sealed({ ...unsigned, proof });
    this.entries.push(entry);
    this.#last.set(entity, entry.cid);
    if (turn) this.#lastTurn.set(entity, entry.cid);
    return entry;
  }

  /** Announces a key. */
  announce(signer: Signer): Entry {
    const { keyId: key_id, holder } = signer;
    const public_key = signer.publicKey.toString("base64");
    return this.append({
      quality: "policy_change",
      payload: { change: "key_added", key_id, holder, public_key },
    });
  }

  /** Retires a key. */
  retire({ keyId: key_id }: Signer): Entry {
    return this.append({ quality: "policy_change", payload: { change: "key_retired", key_id } });
  }

  /** What stands in a payload for private content; the content itself goes with the export unless it is withheld. */
  keepPrivate(content: string, withheld = false): JsonObject {
    const bytes = Buffer.concat([Buffer.alloc(32, content.length), Buffer.from(content)]);
    const digest = blake3Hex(bytes);
    if (!withheld) this.#artifacts.set(digest, { after: this.entries.length, bytes });
    return { $private: { digest, size: bytes.length - 32 } };
  }

  /** Signs a checkpoint of everything so far. */
  checkpoint(): string {
    const size = this.entries.length;
    const note = this.log.checkpoint(ORIGIN, size, treeRoot(this.leaves));
    this.checkpoints.push({ size, note });
    return note;
  }

  /** The artifacts by digest. */
  get artifacts(): ReadonlyMap<string, Buffer> {
    return new Map([...this.#artifacts].map(([digest, { bytes }]) => [digest, bytes]));
  }

  /** The lines of an export. */
  lines(): ExportLine[] {
    const size = this.entries.length;
    const lines: ExportLine[] = [
      { kind: "header", format: "reins-ledger/1", origin: ORIGIN, log_key: this.logKey, size },
    ];
    for (const [seq, entry] of this.entries.entries()) {
      lines.push({ kind: "entry", seq, entry });
      for (const one of this.checkpoints.filter((checkpoint) => checkpoint.size === seq + 1)) {
        lines.push({ kind: "checkpoint", note: one.note });
      }
      for (const [digest, { after, bytes }] of this.#artifacts) {
        if (after === seq) lines.push({ kind: "artifact", digest, bytes: bytes.toString("base64") });
      }
    }
    lines.push({ kind: "end", size });
    return lines;
  }
}

/** The entry with its content id in front of the other members in their canonical order, as a ledger writes it. */
export function sealed(content: Omit<Entry, "cid">): Entry {
  const body = jcs(content);
  const ordered: typeof content = JSON.parse(body);
  return { cid: blake3Hex(Buffer.from(body)), ...ordered };
}

/** The actor's signature over an entry. */
export function attestation(unsigned: JsonObject, by: Signer): JsonObject {
  return {
    type: "attestation",
    key_id: by.keyId,
    rules_checked: ["inside_workspace", "no_secrets"],
    predicate_results: [true, true],
    signature: by.sign(jcs({ ...unsigned, proof: null })).toString("base64"),
  };
}

/** An export's lines as text. */
export function textOf(lines: readonly ExportLine[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}
