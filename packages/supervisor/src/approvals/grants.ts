import type { Clock } from "@reins/kit";
import { type Ledger, SYSTEM } from "@reins/ledger";
import { type Effect, type Enforcement, isManifest, tellingArguments } from "@reins/policy";
import { type Change, change, type Store, StoreError } from "@reins/store";
import { SupervisorError } from "../errors.ts";
import { withoutSecrets } from "../record/record.ts";
import type { Redact } from "../redaction/redactor.ts";
import { type Answerer, expectPerson, isConcerned } from "./answerer.ts";
import { revokedDraft } from "./answers.ts";
import type { Approval } from "./approval.ts";
import type { AtRest } from "./at-rest.ts";
import {
  type ApprovalRequest,
  grantBindingOf,
  isCovered,
  type Keyed,
  prefixBinding,
  prefixBindings,
  saysAll,
} from "./request.ts";
import { approvalTables, type GrantRange, type NewGrant } from "./tables.ts";

/** A standing permission that people gave by saying "always": for exactly the same thing, or commands that begin the same, in any session. */
export interface Grant {
  readonly id: string;
  readonly tenant: string;
  readonly user: string;
  readonly agent: string;
  readonly chain: readonly string[];
  readonly enforcement: Enforcement;
  readonly event_type: string;
  readonly tool: string;
  readonly effects: readonly Effect[];
  readonly cwd: string;
  /** What the files were that it depends on; it lapses when one of them changes. */
  readonly input_state?: Readonly<Record<string, string>>;
  /** The beginning of the commands that it covers, whatever follows in the same folder; absent where it is for one. */
  readonly prefix?: readonly string[];
  /** The arguments it is bound to; absent where the effects say all. */
  readonly arguments?: unknown;
  /** What it counts for: 64 hexadecimal digits. */
  readonly binding: string;
  /** The roles that may revoke it beside its user, where the rule named those that may give it. */
  readonly approvers?: readonly string[];
  /** The approval it came from, and who gave it. */
  readonly approval: string;
  readonly by: readonly string[];
  readonly created_at: string;
  /** When it expires, if it does. */
  readonly expires_at?: string;
  readonly revoked_at?: string;
  /** Who revoked it; absent when it expired and another replaced it. */
  readonly revoked_by?: string;
  /** How often it was used. */
  readonly uses: number;
  readonly used_at?: string;
  /** Why what it covers cannot be shown exactly any more, where that is so; it does not count then. */
  readonly unreadable?: string;
}

/** Whether a grant counts at an instant. */
function isInForce({ revoked_at, expires_at, unreadable }: Grant, now: Date): boolean {
  if (revoked_at !== undefined || unreadable !== undefined) return false;
  return expires_at === undefined || Date.parse(expires_at) > now.getTime();
}

interface GrantsOptions {
  readonly store: Store;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly randomId: () => string;
  readonly redact: Redact;
  readonly keyed: Keyed;
  readonly atRest: AtRest;
}

/** What people have allowed for always: narrow, visible, revocable. */
export class Grants {
  readonly #options: GrantsOptions;

  constructor(options: GrantsOptions) {
    this.#options = options;
  }

  /** The grant that covers an action, if there is one in force. */
  async grantFor({ subject, ...asked }: ApprovalRequest): Promise<Grant | undefined> {
    const { keyed } = this.#options;
    const wanted = { ...subject, ...asked };
    const exact = await this.#standing(grantBindingOf(wanted, keyed));
    if (exact && isInForce(exact, this.#now())) return exact;
    for (const { binding } of prefixBindings(wanted, keyed)) {
      const grant = await this.#standing(binding);
      if (grant && isInForce(grant, this.#now()) && isCovered(asked.facts.effects, grant.effects))
        return grant;
    }
    return undefined;
  }

  /** Counts a use. To be committed with the verdict that the grant allows; fails when it was revoked meanwhile. */
  useChange({ id }: Grant): Change<undefined> {
    return change(approvalTables, "useGrant", { id, at: this.#now().toISOString() });
  }

  async get(id: string, tenant: string): Promise<Grant | undefined> {
    const { store, atRest } = this.#options;
    const found = await store.query(approvalTables, "grant", { id, tenant });
    return found && atRest.readGrant(found);
  }

  /** Grants of a tenant, revoked ones too, the oldest first. */
  async list(range: GrantRange): Promise<Grant[]> {
    const { store, atRest } = this.#options;
    const found = await store.query(approvalTables, "grants", range);
    return found.map((stored) => atRest.readGrant(stored));
  }

  /** Takes a grant back, from the next decision on. */
  async revoke(id: string, person: Answerer & { readonly reason?: string }): Promise<Grant> {
    const { by, tenant, reason = "revoked" } = person;
    expectPerson(person);
    const grant = await this.get(id, tenant);
    if (!grant) throw new SupervisorError("not_found", `there is no grant ${id}`);
    if (!isConcerned(person, grant))
      throw new SupervisorError("forbidden", `the grant ${id} is ${grant.user}'s; an approver can revoke it`);
    if (grant.revoked_at !== undefined) throw revokedAlready(grant);
    try {
      return await this.#end(grant, by, reason);
    } catch (error) {
      if (!(error instanceof StoreError && error.code === "conflict")) throw error;
      throw revokedAlready((await this.get(id, tenant)) ?? grant);
    }
  }

  /** The grant that an approval turns into: the one in force for the same, or a new one. */
  async from(approval: Approval): Promise<Grant> {
    const { id, tenant, user, agent, chain, enforcement, event_type, tool, facts, cwd } = approval;
    const { keyed } = this.#options;
    const prefix = prefixOf(approval);
    const binding = prefix ? prefixBinding(approval, prefix, keyed) : grantBindingOf(approval, keyed);
    const now = this.#now();
    const known = await this.#standing(binding);
    if (known && isInForce(known, now)) return known;
    if (known?.unreadable !== undefined)
      await this.#end(known, SYSTEM, `what it covers cannot be read: ${known.unreadable}`);
    return {
      id: `grt_${this.#options.randomId()}`,
      ...{ tenant, user, agent, chain, enforcement, event_type, tool, cwd, binding },
      ...(approval.approvers && { approvers: approval.approvers }),
      effects: facts.effects,
      ...(prefix && { prefix }),
      ...(!prefix && !saysAll(facts) && { arguments: tellingArguments(facts) }),
      ...inputsOf(approval, prefix !== undefined),
      approval: id,
      by: approval.answers.map(({ by }) => by),
      created_at: now.toISOString(),
      ...endOf(now, approval),
      uses: 0,
    };
  }

  /** A grant as it is kept. */
  kept(grant: Grant): NewGrant {
    const { id, tenant, user, agent, binding, expires_at } = grant;
    const ends = expires_at === undefined ? {} : { expires_at };
    return { id, tenant, user, agent, binding, ...ends, form: this.#options.atRest.grant(grant) };
  }

  /** The grant of a binding that was not revoked. */
  async #standing(binding: string): Promise<Grant | undefined> {
    const { store, atRest } = this.#options;
    const found = await store.query(approvalTables, "grantFor", { binding });
    return found && atRest.readGrant(found);
  }

  async #end(grant: Grant, by: string, reason: string): Promise<Grant> {
    const { ledger, redact } = this.#options;
    const at = this.#now().toISOString();
    const revoke = change(approvalTables, "revokeGrant", { id: grant.id, at, by });
    await ledger.record([withoutSecrets(revokedDraft(grant, by, reason), redact)], { with: [revoke] });
    return { ...grant, revoked_at: at, revoked_by: by };
  }

  #now(): Date {
    return this.#options.clock.now();
  }
}

const LONGEST_MS = 10 * 365 * 86_400_000;

/** The beginning of a command that all meant; where they differ, exactly what was asked. */
function prefixOf({ answers }: Pick<Approval, "answers">): readonly string[] | undefined {
  const [first, ...others] = answers.map(({ prefix }) => prefix);
  const isSame = (other: readonly string[] | undefined) => other?.join("\0") === first?.join("\0");
  return first && others.every(isSame) ? first : undefined;
}

/** The files whose content a grant depends on: for the beginning of a command, those by which tools decide what to run. */
function inputsOf({ input_state }: Approval, isPrefix: boolean): Pick<Grant, "input_state"> {
  const kept = Object.entries(input_state ?? {}).filter(([path]) => !isPrefix || isManifest(path));
  return kept.length > 0 ? { input_state: Object.fromEntries(kept) } : {};
}

/** The shortest lifetime in the answers; no expiry where none names one. */
function endOf(now: Date, { answers }: Pick<Approval, "answers">): Pick<Grant, "expires_at"> {
  const spans = answers.flatMap(({ grant_expires_ms }) => grant_expires_ms ?? []);
  if (spans.length === 0) return {};
  return { expires_at: new Date(now.getTime() + Math.min(...spans, LONGEST_MS)).toISOString() };
}

function revokedAlready({ id, revoked_by, revoked_at }: Grant): SupervisorError {
  return new SupervisorError("conflict", `the grant ${id} was revoked by ${revoked_by} at ${revoked_at}`);
}
