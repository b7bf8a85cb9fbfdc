import type { Draft, Ledger } from "@reins/ledger";
import {
  type Action,
  type ControlEvent,
  type DecisionInput,
  isModest,
  type Policy,
  type PolicyHashes,
  type PolicyVerdict,
  type Subject,
} from "@reins/policy";
import type { Change } from "@reins/store";
import { approvalTag } from "../approvals/approval.ts";
import { type Commitment, sessionKey, withoutSecrets } from "../record/record.ts";
import { knownRedactor, type Redactor } from "../redaction/redactor.ts";
import type { DecisionRequest, FailedOpen, Modification, Unrecorded } from "./decision.ts";

/** What a verdict's entry is made from. */
export interface VerdictRecord {
  readonly input: DecisionInput;
  readonly decided: Unrecorded;
  readonly hashes: PolicyHashes | undefined;
  /** What the policy said to the input, before limits, harnesses and people were heard. */
  readonly policy?: Pick<PolicyVerdict, "verdict" | "rule"> | undefined;
  readonly modifiedFrom?: Modification | undefined;
  /** Members of the arguments that the policy looks at; the others are not kept. */
  readonly argumentPaths: readonly string[];
  /** The external harnesses that failed and were skipped. */
  readonly failedOpen: readonly FailedOpen[];
}

/** What the entry of something that could not be decided is made from. */
interface RefusalRecord extends Pick<VerdictRecord, "decided" | "hashes"> {
  readonly event: ControlEvent;
  readonly subject: Subject;
  readonly at: number;
}

/** How large the facts of an action before it was modified may be as JSON; larger ones are left out. */
const MAX_FACTS_BEFORE = 256 * 1024;
/** How much is recorded of a tool's name about which nothing else is known. */
const MAX_TOOL = 200;

/**
 * The entry of a verdict: who, what, by which rule, and everything needed to decide it again, with the keyed commitment
 * to exactly what the agent sent. The members of the payload stand in the order in which they are recorded, by name.
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

/** The entry of something that could not be decided: who, and why not. It holds no facts, because there are none. */
function refusalDraft(record: RefusalRecord, commitment?: string): Draft {
  const { event, subject, at, decided, hashes } = record;
  const { verdict, reason, rule, enforcement } = decided;
  const payload = {
    at,
    constitution_hash: hashes?.constitution_hash ?? null,
    counters: {},
    enforcement,
    event_type: event.event_type,
    facts: null,
    ...(commitment !== undefined && { payload_commitment: commitment }),
    reason,
    rule: rule ?? null,
    rules_hash: hashes?.rules_hash ?? null,
    subject,
    verdict,
  };
  return draftOf(subject, toolIn(event.payload), decided, payload);
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

/** The tool that a payload names in the usual place, if it does. */
function toolIn(payload: unknown): string {
  if (typeof payload !== "object" || payload === null) return "";
  const { tool_name, tool } = { tool_name: undefined, tool: undefined, ...payload };
  const name: unknown = tool_name ?? tool;
  return typeof name === "string" ? name.slice(0, MAX_TOOL).toWellFormed() : "";
}

/** The change of another harness has a name of its own, because no rule makes it again. */
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

/** An action with no more of its arguments than the rules look at. */
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

export interface VerdictWriterOptions {
  readonly ledger: Ledger;
  /** The policy of a tenant, as it is in force now. */
  readonly policyFor: (tenant: string) => Policy | undefined;
  /** Commits to what an agent sent, which itself is not recorded. */
  readonly commitment?: Pick<Commitment, "to">;
  /** Takes secrets out of what is recorded; by default those that are known by their form. */
  readonly redactor?: Redactor;
  /** Told when a verdict could not be written. */
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

  /** Writes a verdict in one commit with what belongs to it; settles with its entry once that is on the disk. */
  now(
    request: DecisionRequest,
    record: VerdictRecord,
    changes: readonly Change<unknown>[],
  ): ReturnType<Ledger["record"]> {
    // What was decided before comes before it in the ledger, too.
    this.#buffered.hurry();
    return this.#options.ledger.record([this.#draft(request, record)], { with: changes });
  }

  /** Writes a verdict that allows nothing; without its facts, if they cannot be written. */
  later(request: DecisionRequest, record: VerdictRecord): Buffered {
    return this.#buffered.add(() => this.#draft(request, record), this.#refusal(request, record.decided));
  }

  /** Writes that something was blocked because it could not be decided. */
  refused(request: DecisionRequest, decided: Unrecorded): Buffered {
    return this.#buffered.add(this.#refusal(request, decided));
  }

  /** Settles when everything is written. */
  flush(): Promise<void> {
    return this.#buffered.flush();
  }

  /** Reports what could not be written. A listener that throws must not make a verdict fail. */
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
      const hashes = this.#options.policyFor(subject.tenant)?.hashes;
      const at = this.#options.now();
      // What is too deep or too large to be judged is so to be committed to.
      const commitment = isModest(event.payload) ? this.#commitTo(event) : undefined;
      const draft = refusalDraft({ event, subject, at, decided, hashes }, commitment);
      return withoutSecrets(draft, (value) => this.#redactor.value(value));
    };
  }

  #commitTo({ payload }: ControlEvent): string | undefined {
    return this.#options.commitment?.to(payload);
  }
}

/** How many entries may wait; callers with more wait until there is room. */
const MAX_WAITING = 50_000;
/** How many go into one commit. */
const BATCH = 500;

/** An entry, made when it is written, and what is written instead where that cannot be. */
interface Waiting {
  readonly draft: () => Draft;
  readonly otherwise: (() => Draft) | undefined;
  /** Told its content id; `undefined` when neither could be written. */
  readonly onWritten: (cid: string | undefined) => void;
}

/** What becomes of an entry that was taken. */
export interface Buffered {
  /** To be waited for, where too many entries are under way. */
  readonly room: Promise<void> | undefined;
  /** Its content id, once it is written; `undefined` when it cannot be. Never rejects. */
  readonly written: Promise<string | undefined>;
}

/**
 * Entries of verdicts that allow nothing. The verdict need not wait for them, so they are made and written a
 * little later, in order, many at a time.
 */
export class BufferedRecords {
  readonly #ledger: Pick<Ledger, "record">;
  readonly #onError: (error: unknown) => void;
  #waiting: Waiting[] = [];
  #writing = 0;
  #scheduled = false;
  #last: Promise<void> = Promise.resolve();
  #room: (() => void)[] = [];

  constructor(ledger: Pick<Ledger, "record">, onError: (error: unknown) => void) {
    this.#ledger = ledger;
    this.#onError = onError;
  }

  /** Takes an entry, to be made when it is written, and one that takes its place if it cannot be. */
  add(draft: () => Draft, otherwise?: () => Draft): Buffered {
    const { promise: written, resolve: onWritten } = Promise.withResolvers<string | undefined>();
    this.#waiting.push({ draft, otherwise, onWritten });
    this.#schedule();
    if (this.#waiting.length + this.#writing < MAX_WAITING) return { room: undefined, written };
    return { room: new Promise((resolve) => this.#room.push(resolve)), written };
  }

  /** Hands everything that waits to the ledger now, so that what is recorded next comes after it. */
  hurry(): void {
    while (this.#waiting.length > 0) this.#write();
  }

  /** Settles when everything is written. */
  async flush(): Promise<void> {
    this.hurry();
    await this.#last;
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#write();
      if (this.#waiting.length > 0) this.#schedule();
    });
  }

  #write(): void {
    const batch = this.#waiting.splice(0, BATCH);
    if (batch.length === 0) return;
    this.#writing += batch.length;
    const written = this.#record(batch).finally(() => {
      this.#writing -= batch.length;
      if (this.#waiting.length + this.#writing < MAX_WAITING) for (const go of this.#room.splice(0)) go();
    });
    this.#last = Promise.all([this.#last, written]).then(() => undefined);
  }

  async #record(batch: readonly Waiting[]): Promise<void> {
    try {
      const { entries } = await this.#ledger.record(
        batch.map(({ draft }) => draft()),
        { durable: false },
      );
      for (const [index, { onWritten }] of batch.entries()) onWritten(entries[index]?.cid);
    } catch (error) {
      const [only, ...more] = batch;
      // One that cannot be written must not take the others with it.
      if (more.length > 0) for (const one of batch) await this.#record([one]);
      else if (only?.otherwise)
        await this.#record([{ ...only, draft: only.otherwise, otherwise: undefined }]);
      else {
        this.#onError(error);
        only?.onWritten(undefined);
      }
    }
  }
}
