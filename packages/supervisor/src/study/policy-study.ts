import type { PlacedEntry } from "@reins/ledger";
import {
  Backtest,
  type BacktestReport,
  backtestDraft,
  type CheckedDraft,
  type ControlEvent,
  type Counters,
  type CoverageReport,
  checkDraft,
  coverDraft,
  History,
  type Policy,
  permitsAction,
  RecordReader,
  readPolicy,
  StudyTimeout,
  type Subject,
} from "@reins/policy";
import type { RequestContext } from "../decision/decision.ts";
import { SupervisorError } from "../errors.ts";
import type { Harness } from "../harness/harness.ts";
import type { Usage } from "../limits/tables.ts";
import type { PolicyKeeper } from "../policies/policy-keeper.ts";
import {
  type Explanation,
  explanationOf,
  type PastDecision,
  pastDecision,
  pastVerdicts,
  policiesInForce,
} from "./past-verdicts.ts";

/** A constitution that is tried: what it leaves out is as it is in force. */
export interface PolicyDraft {
  readonly rules?: string | undefined;
  readonly prose?: string | undefined;
}

/** Which verdicts of the past a draft is held against. */
export interface PastVerdicts {
  readonly since?: string | undefined;
  readonly limit?: number | undefined;
}

/** An action that might come. */
export interface Supposed {
  readonly event: ControlEvent;
  readonly subject: Subject;
  readonly requestContext: RequestContext;
}

/** What a policy is studied in: a `Harness`, or as much of one. */
interface StudiedParts extends Pick<Harness, "ledger" | "supervisor"> {
  readonly policies: Pick<PolicyKeeper, "inForce" | "status">;
}

const DEFAULT_LIMIT = 20_000;
const NAME = "constitution.yaml";
/** How long a draft may take to be checked and tested, and to be held against the past. */
const CHECK_MS = 20_000;
const PAST_MS = 120_000;
const BLIND = "these rules ask for arguments that the record does not hold; they were taken as absent";

/** Studies the policy of a tenant: what a draft is worth, and why a verdict was what it was. Changes nothing. */
export class PolicyStudy {
  readonly #harness: StudiedParts;
  readonly #tenant: string;

  constructor(harness: StudiedParts, tenant: string) {
    this.#harness = harness;
    this.#tenant = tenant;
  }

  /** What there is to say about a draft, and whether it provably allows no more than the policy in force. */
  check(draft: PolicyDraft): Promise<CheckedDraft> {
    const { policy } = this.#harness.policies.status(this.#tenant) ?? {};
    return inTime(checkDraft(this.#textOf(draft), policy?.text.rules, { deadlineMs: CHECK_MS }));
  }

  /**
   * Why a verdict of the record is what it is, or what a draft would have decided in its place; only what `mayRead` lets
   * the caller sees.
   */
  async explainEntry(
    cid: string,
    mayRead: (subject: Subject) => boolean,
    draft: PolicyDraft = {},
  ): Promise<Explanation> {
    const placed = await this.#harness.ledger.get(cid);
    const absent = new SupervisorError("not_found", `there is no verdict ${cid}`);
    if (placed?.entry.quality !== "policy_verdict") throw absent;
    const past = pastDecision(placed.entry.payload);
    if (typeof past === "string")
      throw new SupervisorError("conflict", `this verdict cannot be decided again: ${past}`);
    const { input, rules_hash, recorded } = past;
    if (input.subject.tenant !== this.#tenant || !mayRead(input.subject)) throw absent;
    if (isDraft(draft)) return this.#explainAgain(past, placed, this.#policyFrom(draft));
    const inForce = this.#harness.policies.inForce.get(this.#tenant);
    const current = inForce?.hashes.rules_hash === rules_hash;
    const policy = current ? inForce : await this.#formerPolicy(rules_hash);
    if (!policy)
      throw new SupervisorError(
        "conflict",
        "the rules that made it are not in this ledger, or cannot be read",
      );
    const used = current ? await this.#used(input.subject) : new Map();
    return explanationOf({ input, policy, current, used, entry: cid, recorded });
  }

  /** What would be decided on an action that might come, and why. */
  async explainEvent(
    { event, subject, requestContext }: Supposed,
    draft: PolicyDraft = {},
  ): Promise<Explanation> {
    const input = await this.#harness.supervisor.preview(event, subject, requestContext);
    if (!input) throw new SupervisorError("not_found", `the tenant ${this.#tenant} has no policy yet`);
    if (!isDraft(draft)) {
      const policy = this.#policyFrom({});
      return explanationOf({ input, policy, current: true, used: await this.#used(subject) });
    }
    const policy = this.#policyFrom(draft);
    const counters = await this.#countersUnder(policy, subject, input.at);
    return explanationOf({ input: { ...input, counters }, policy, current: false, used: new Map() });
  }

  /** What a draft would have changed. */
  async backtest(
    draft: PolicyDraft,
    past: PastVerdicts,
    examples: number | undefined,
  ): Promise<BacktestReport> {
    const tenant = this.#tenant;
    const known = (await policiesInForce(this.#harness.ledger, tenant)).map(({ text }) => text.rules);
    const { text } = this.#policyFrom(draft);
    return inTime(
      backtestDraft({ text, tenant, known, examples }, this.#entries(past), { deadlineMs: PAST_MS }),
    );
  }

  /** Which actions of the past no rule names, and which rules nothing was about. */
  async coverage(draft: PolicyDraft, past: PastVerdicts): Promise<CoverageReport> {
    const { text } = this.#policyFrom(draft);
    const job = { text, tenant: this.#tenant };
    return inTime(coverDraft(job, this.#entries(past), { deadlineMs: PAST_MS }));
  }

  async *#entries(past: PastVerdicts) {
    for await (const { entry } of this.#past(past)) yield { cid: entry.cid, payload: entry.payload };
  }

  /** What other rules would have decided on an action of the past. */
  async #explainAgain(
    { input, recorded }: PastDecision,
    { seq, entry: { cid, payload } }: PlacedEntry,
    policy: Policy,
  ): Promise<Explanation> {
    const counters = await this.#countersUnder(policy, input.subject, input.at, seq);
    const known = await policiesInForce(this.#harness.ledger, this.#tenant);
    const trial = new Backtest(policy, { tenant: this.#tenant, known });
    trial.add(cid, payload);
    const note = trial.report().blind > 0 ? BLIND : undefined;
    const again = { input: { ...input, counters }, policy, current: false, used: new Map() };
    return explanationOf({ ...again, entry: cid, recorded, note });
  }

  #past({ since, limit = DEFAULT_LIMIT }: PastVerdicts, before?: number) {
    return pastVerdicts(this.#harness.ledger, { since, limit, tenant: this.#tenant, before });
  }

  #textOf({ rules, prose }: PolicyDraft) {
    const { policy, waiting } = this.#harness.policies.status(this.#tenant) ?? {};
    const text = (policy ?? waiting)?.text;
    if (!text && rules === undefined)
      throw new SupervisorError("not_found", `the tenant ${this.#tenant} has no policy yet`);
    return {
      file: NAME,
      rules: rules ?? text?.rules ?? "",
      prose: prose === undefined ? (text?.prose ?? new Uint8Array()) : Buffer.from(prose),
    };
  }

  /** The policy that a draft makes; one that fails its own tests can still be studied. */
  #policyFrom(draft: PolicyDraft): Policy {
    const made = readPolicy(this.#textOf(draft));
    if (made.policy) return made.policy;
    const { faults } = made;
    const [first] = faults;
    const where = first?.place ? ` (line ${first.place.line})` : "";
    throw new SupervisorError("invalid", `the draft has ${faults.length} faults: ${first?.message}${where}`);
  }

  async #formerPolicy(rules_hash: string): Promise<Policy | undefined> {
    const policies = await policiesInForce(this.#harness.ledger, this.#tenant);
    return policies.findLast(({ hashes }) => hashes.rules_hash === rules_hash);
  }

  async #used(subject: Subject): Promise<ReadonlyMap<string, Usage>> {
    const report = await this.#harness.supervisor.budget(subject);
    return new Map(report.map(({ limit, used }) => [limit.name, used]));
  }

  /** What a subject did before, as far as other rules than those in force ask. */
  async #countersUnder(policy: Policy, subject: Subject, at: number, before?: number): Promise<Counters> {
    if (policy.sequences.length === 0) return {};
    const history = new History(policy.sequences);
    const reader = new RecordReader();
    for await (const { entry } of this.#past({}, before)) {
      const recorded = reader.read(entry.payload);
      if (typeof recorded === "string" || recorded.subject.tenant !== subject.tenant) continue;
      if (permitsAction(recorded.outcome)) history.note(recorded);
    }
    return history.counters(subject, at);
  }
}

function isDraft({ rules, prose }: PolicyDraft): boolean {
  return rules !== undefined || prose !== undefined;
}

/** Reports a draft that took too long as invalid. */
async function inTime<Answer>(study: Promise<Answer>): Promise<Answer> {
  try {
    return await study;
  } catch (error) {
    if (!(error instanceof StudyTimeout)) throw error;
    throw new SupervisorError("invalid", error.message, { cause: error });
  }
}
