import { createHmac, createSecretKey, hash, type KeyObject } from "node:crypto";
import { isModest } from "@reins/kit";
import { blake3Hex, type Draft, exactJson, type Ledger } from "@reins/ledger";
import type {
  Action,
  ControlEvent,
  DecisionInput,
  Policy,
  PolicyHashes,
  PolicyVerdict,
  Subject,
} from "@reins/policy";
import type { Change } from "@reins/store";
import { approvalTag } from "../approvals/approval.ts";
import type { DecisionRequest, FailedOpen, Modification, Unrecorded } from "../decision/decision.ts";
import { knownRedactor, type Redact, type Redactor, redact as redactKnown } from "../redaction/redactor.ts";
import { type Buffered, BufferedRecords, refusalPayload, toolIn } from "./buffered-records.ts";
import { secretKeys } from "./vault.ts";

export interface VerdictWriterOptions {
  readonly ledger: Ledger;
  /** The policies in force, by tenant. */
  readonly policies: Pick<ReadonlyMap<string, Policy>, "get">;
  /** Commits to what an agent sent, which itself is not recorded. */
  readonly commitment?: Pick<Commitment, "to">;
  /** Removes secrets from what is recorded; by default those of known formats. */
  readonly redactor?: Redactor;
  /** Called when a verdict could not be written. */
  readonly onRecordError?: (error: unknown) => void;
  readonly now: () => number;
}

/** Writes verdicts: allowing ones before they are returned, the others a little later. */
export class VerdictWriter {
  readonly #options: VerdictWriterOptions;
  readonly #redactor: Redactor;
  readonly #buffered: BufferedRecords;

  constructor(options: VerdictWriterOptions) {
    this.#options = options;
    this.#redactor = options.redactor ?? knownRedactor();
    this.#buffered = new BufferedRecords(options.ledger, (error) => this.report(error));
  }

  /**
   * Writes a verdict in one commit with the changes that belong to it; resolves to its entry once that is on the disk. A
   * deferred one is written with the next commit, and is on the disk when that is.
   */
  now(
    request: DecisionRequest,
    record: VerdictRecord,
    changes: readonly Change<unknown>[],
    { deferred = false } = {},
  ): ReturnType<Ledger["record"]> {
    // The ledger keeps the order of decisions.
    if (this.#buffered.waiting.length > 0) this.#buffered.send();
    const how = { with: changes, durable: !deferred, relaxed: deferred };
    return this.#options.ledger.record([this.#draft(request, record)], how);
  }

  /** Buffers a verdict that allows nothing; it is written without its facts if they cannot be. */
  later(request: DecisionRequest, record: VerdictRecord): Buffered {
    return this.#buffered.add(() => this.#draft(request, record), this.#refusal(request, record.decided));
  }

  /** Buffers the block of an event that could not be decided. */
  refused(request: DecisionRequest, decided: Unrecorded): Buffered {
    return this.#buffered.add(this.#refusal(request, decided));
  }

  /** Settles when everything is written. */
  flush(): Promise<void> {
    return this.#buffered.flush();
  }

  /** Reports a failed write. A listener that throws must not make a verdict fail. */
  report(error: unknown): void {
    try {
      this.#options.onRecordError?.(error);
    } catch {
      // No other listener is left.
    }
  }

  #draft({ event }: DecisionRequest, record: VerdictRecord): Draft {
    this.#redactor.remember(record.input.subject);
    const draft = verdictDraft(record, this.#commitTo(event));
    return withoutSecrets(draft, this.#redactor.knowing(event.payload));
  }

  #refusal({ event, subject }: DecisionRequest, decided: Unrecorded): () => Draft {
    return () => {
      const hashes = this.#options.policies.get(subject.tenant)?.hashes;
      const at = this.#options.now();
      // A payload that is too deep or too large to be decided is too large for a commitment as well.
      const commitment = isModest(event.payload) ? this.#commitTo(event) : undefined;
      const payload = refusalPayload({ event, subject, at, decided, hashes }, commitment);
      const draft = draftOf(subject, toolIn(event.payload), decided, payload);
      return bounded(withoutSecrets(draft, (value) => this.#redactor.value(value)));
    };
  }

  #commitTo({ payload }: ControlEvent): string | undefined {
    return this.#options.commitment?.to(payload);
  }
}

/** What a verdict's entry is made from. */
export interface VerdictRecord {
  readonly input: DecisionInput;
  readonly decided: Unrecorded;
  readonly hashes: PolicyHashes | undefined;
  /** The policy's own verdict on the input, before limits, harnesses and people. */
  readonly policy?: Pick<PolicyVerdict, "verdict" | "rule"> | undefined;
  readonly modifiedFrom?: Modification | undefined;
  /** Members of the arguments that the policy reads; the others are not kept. */
  readonly argumentPaths: readonly string[];
  /** The external harnesses that failed and were skipped. */
  readonly failedOpen: readonly FailedOpen[];
}

/** The largest facts, as JSON, of an action before it was modified; larger ones are left out. */
const MAX_FACTS_BEFORE = 256 * 1024;

/**
 * The entry of a verdict: who, what, by which rule, and everything needed to decide it again, with the keyed commitment
 * to exactly what the agent sent. The members of the payload are in the order in which they are recorded, by name.
 */
export function verdictDraft(record: VerdictRecord, commitment?: string): Draft {
  const { input, decided, hashes, argumentPaths, failedOpen, policy, modifiedFrom } = record;
  const { action, subject, event_type, counters, at } = input;
  const { verdict, reason, rule, enforcement, approval } = decided;
  const payload = {
    ...(approval !== undefined && { approval }),
    at,
    constitution_hash: hashes?.constitution_hash ?? null,
    counters,
    enforcement,
    event_type,
    facts: factsFor(action, argumentPaths),
    ...(failedOpen.length > 0 && { harnesses: failedOpen }),
    ...(modifiedFrom && recordedFrom(modifiedFrom, argumentPaths)),
    ...(commitment !== undefined && { payload_commitment: commitment }),
    ...(policy &&
      overruled(policy, decided) && { policy: { verdict: policy.verdict, rule: policy.rule ?? null } }),
    reason,
    rule: rule ?? null,
    rules_hash: hashes?.rules_hash ?? null,
    subject,
    verdict,
  };
  return draftOf(subject, action.tool, decided, payload);
}

function draftOf(
  subject: Subject,
  tool: string,
  { verdict, approval }: VerdictRecord["decided"],
  payload: object,
): Draft {
  return {
    quality: "policy_verdict",
    actor: subject.agent,
    target: tool,
    payload,
    entity_id: sessionKey(subject),
    tags: approval === undefined ? ["verdict", verdict] : ["verdict", verdict, approvalTag(approval)],
  };
}

/** The change of another harness is recorded under another name, because no rule repeats it. */
function recordedFrom(
  from: Modification,
  argumentPaths: readonly string[],
): { readonly modified_by: object } | { readonly modified_from: object } {
  const { action, at, counters } = from.input;
  const facts = factsFor(action, argumentPaths);
  const before = {
    at,
    facts: JSON.stringify(facts).length <= MAX_FACTS_BEFORE ? facts : null,
    counters,
  };
  if (from.by === "harness") return { modified_by: { harness: from.harness, ...before } };
  return { modified_from: { rule: from.rule, patch: from.patch, ...before } };
}

/** An action with only those arguments that the rules read. */
function factsFor(action: Action, paths: readonly string[]): Action {
  const kept: Record<string, unknown> = {};
  for (const path of paths) {
    const value = memberAt(action.arguments, path.split("."));
    if (value !== undefined) kept[path] = value;
  }
  const { claims, doubts, effects, opaque, tool } = action;
  return { arguments: kept, claims, doubts, effects, opaque, tool };
}

function memberAt(value: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined) return value;
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return memberAt(Reflect.get(value, name), rest);
}

function overruled(policy: Pick<PolicyVerdict, "verdict" | "rule">, decided: Unrecorded): boolean {
  return policy.verdict !== decided.verdict || policy.rule !== decided.rule;
}

/** The key of a session's chain in the ledger. It names the tenant, since two tenants may use the same names. */
export function sessionKey(subject: Pick<Subject, "agent" | "tenant" | "session" | "session_key">): string {
  const { tenant, agent, session, session_key } = subject;
  // A colon in an agent's name must not make its key that of another agent.
  const key = session_key ?? `${agent.replaceAll(":", "%3A")}:ahp:${session}`;
  return `${tenantPrefix(tenant) ?? ""}${key}`;
}

/** The common prefix of the session keys of a tenant; the default tenant has none. */
export function tenantPrefix(tenant: string): string | undefined {
  return tenant === "default" ? undefined : `${tenant}/`;
}

/**
 * A draft as it is recorded: without secrets, and no larger than an entry may be. A verdict keeps all its facts, because
 * it is decided again from them; one that is too large is not given.
 */
export function withoutSecrets(draft: Draft, redact: Redact = redactKnown): Draft {
  const target = String(redact(draft.target));
  const payload = redact(draft.payload);
  const tags = draft.tags?.map((tag) => String(redact(tag)));
  const recorded = { ...draft, target, payload, ...(tags && { tags }) };
  return draft.quality === "policy_verdict" ? recorded : bounded(recorded);
}

/** The largest draft, in bytes of JSON. The ledger's own bound leaves room for parents, times and a signature. */
const MAX_DRAFT = 900 * 1024;
/** The deepest nesting in a payload; the ledger's own bound counts the entry around it. */
const DEEPEST = 60;
/** The most bytes of JSON for one UTF-16 unit, which may be escaped; and for a number, a flag or punctuation. */
const [UNIT_BYTES, OTHER_BYTES] = [6, 32];

/** How long texts, lists and objects may be. */
interface Cut {
  readonly text: number;
  readonly items: number;
}

/** Each is tried where the one before leaves a draft too large. */
const CUTS: readonly Cut[] = [
  { text: 64 * 1024, items: 4_096 },
  { text: 8 * 1024, items: 512 },
  { text: 1_024, items: 64 },
  { text: 128, items: 8 },
];

/**
 * A draft that the ledger can hold: the same where it fits. Otherwise long texts and lists end in a mark that says how
 * long the whole was, with its digest, so that what an agent sends never keeps an entry off the record.
 */
export function bounded(draft: Draft): Draft {
  // Private parts are kept beside the ledger, whatever their size.
  if (draft.isPrivate) return draft;
  const { target, tags = [], payload } = draft;
  const weight = weightOf([target, tags, payload], 0);
  if (weight <= MAX_DRAFT) return draft;
  if (weight < Number.POSITIVE_INFINITY && sizeOf(draft) <= MAX_DRAFT) return draft;
  for (const cut of CUTS) {
    const smaller = { ...withNames(draft, cut), payload: cutValue(payload, cut, 1) };
    if (sizeOf(smaller) <= MAX_DRAFT) return smaller;
  }
  const last = CUTS.at(-1) ?? { text: 0, items: 0 };
  return { ...withNames(draft, last), payload: { truncated: wholeOf(payload) } };
}

function withNames(draft: Draft, cut: Cut): Draft {
  const target = cutText(draft.target, cut);
  if (!draft.tags) return { ...draft, target };
  return { ...draft, target, tags: draft.tags.slice(0, cut.items).map((tag) => cutText(tag, cut)) };
}

/** At least as many bytes as a value takes in JSON; infinite where it is nested too deep. Cheap: most drafts are small. */
function weightOf(value: unknown, depth: number): number {
  if (typeof value === "string") return value.length * UNIT_BYTES + OTHER_BYTES;
  if (!isContainer(value)) return OTHER_BYTES;
  // The list around the payload counts as one.
  if (depth > DEEPEST) return Number.POSITIVE_INFINITY;
  let weight = OTHER_BYTES;
  if (Array.isArray(value)) for (const item of value) weight += weightOf(item, depth + 1);
  else
    for (const [name, member] of Object.entries(value))
      weight += name.length * UNIT_BYTES + OTHER_BYTES + weightOf(member, depth + 1);
  return weight;
}

function sizeOf({ target, tags, payload, entity_id, source, actor }: Draft): number {
  return Buffer.byteLength(JSON.stringify([target, tags, payload, entity_id, source, actor]));
}

function cutValue(value: unknown, cut: Cut, depth: number): unknown {
  if (typeof value === "string") return cutText(value, cut);
  if (!isContainer(value)) return value;
  if (depth > DEEPEST) return { truncated: wholeOf(value) };
  const inside = (member: unknown) => cutValue(member, cut, depth + 1);
  if (Array.isArray(value)) {
    if (value.length <= cut.items) return value.map(inside);
    return {
      truncated: { count: value.length, ...wholeOf(value) },
      first: value.slice(0, cut.items).map(inside),
    };
  }
  const members = Object.entries(value);
  const kept = members.slice(0, cut.items).map(([name, member]) => [cutText(name, cut), inside(member)]);
  if (members.length <= cut.items) return Object.fromEntries(kept);
  return { ...Object.fromEntries(kept), truncated: { count: members.length, ...wholeOf(value) } };
}

function cutText(text: string, cut: Cut): string {
  if (text.length <= cut.text) return text;
  return `${text.slice(0, cut.text).toWellFormed()}… (truncated: ${text.length} characters, blake3:${blake3Hex(text)})`;
}

/** What identifies a value of which only a part is recorded. */
function wholeOf(value: unknown): { readonly bytes: number; readonly digest: string } {
  const text = JSON.stringify(value) ?? "null";
  return { bytes: Buffer.byteLength(text), digest: `blake3:${blake3Hex(text)}` };
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null && !JSON.isRawJSON(value);
}

/** The block and the digest of SHA-256, in bytes. */
const BLOCK = 64;
const DIGEST = 32;
/** Room for texts of usual length; a UTF-16 unit takes at most three bytes. */
const ROOM = 8 * 1_024;
/** The paddings of RFC 2104. */
const [INNER, OUTER] = [0x36, 0x5c];

/**
 * HMAC-SHA-256 of texts with one key of at most 64 bytes. This runs for every verdict: two one-shot hashes are several
 * times as fast as `createHmac`, which makes several objects.
 */
export class KeyedHash {
  readonly #key: KeyObject;
  /** The padded key in front of each of the two hashes, and room for what follows. */
  readonly #inner = Buffer.alloc(BLOCK + ROOM);
  readonly #outer = Buffer.alloc(BLOCK + DIGEST);

  constructor(key: Buffer) {
    if (key.length > BLOCK) throw new RangeError(`a key of ${key.length} bytes is longer than a block`);
    this.#key = createSecretKey(key);
    for (let index = 0; index < BLOCK; index += 1) {
      this.#inner[index] = (key[index] ?? 0) ^ INNER;
      this.#outer[index] = (key[index] ?? 0) ^ OUTER;
    }
  }

  /** The hash of a text, in hexadecimal digits. */
  of(text: string): string {
    if (text.length * 3 > ROOM) return createHmac("sha256", this.#key).update(text).digest("hex");
    const end = BLOCK + this.#inner.write(text, BLOCK);
    this.#outer.write(hash("sha256", this.#inner.subarray(0, end), "binary"), BLOCK, "binary");
    return hash("sha256", this.#outer, "hex");
  }
}

/** Commits to what an agent sent without recording it: with the key, the text can be proved but not guessed. */
export class Commitment {
  readonly #hash: KeyedHash;

  private constructor(key: Buffer) {
    this.#hash = new KeyedHash(key);
  }

  /** The commitments of a home; its key is made on first use. */
  static async open(keys: string): Promise<Commitment> {
    const [key] = await secretKeys(keys, "commitment.key");
    return new Commitment(key);
  }

  /** The commitment to a JSON value. */
  to(value: unknown): string {
    return `hmac-sha256:${this.#hash.of(canonicalText(value))}`;
  }

  /** 64 hexadecimal digits to look up a text for one purpose, from which it cannot be guessed. */
  digest(purpose: string, text: string): string {
    // No JSON text has this prefix, so no digest is a commitment.
    return this.#hash.of(`${purpose}\0${text}`);
  }
}

/** The canonical form, or that of JavaScript for a value without one, such as half of a surrogate pair. */
function canonicalText(value: unknown): string {
  try {
    return exactJson(value);
  } catch {
    return JSON.stringify(value) ?? "null";
  }
}
