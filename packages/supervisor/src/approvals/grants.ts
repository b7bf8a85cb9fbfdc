import type { Ledger } from "@reins/ledger";
import { type Change, change, type Store, StoreError } from "@reins/store";
import type { Clock } from "../clock.ts";
import { withoutSecrets } from "../record/redacted-draft.ts";
import type { Redact } from "../redaction/redact.ts";
import { SupervisorError } from "../supervisor-error.ts";
import { type Answerer, expectPerson } from "./answerer.ts";
import type { Approval } from "./approval.ts";
import { type Grant, isInForce } from "./grant.ts";
import { grantBindingOf, saysAll } from "./grant-binding.ts";
import { revokedDraft } from "./record.ts";
import type { ApprovalRequest } from "./request.ts";
import { approvalTables, type GrantRange } from "./tables.ts";

/** What grants stand on. */
interface GrantsOptions {
  readonly store: Store;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly randomId: () => string;
  readonly redact?: Redact | undefined;
}

/** What people have allowed for always: narrow, visible, revocable. */
export class Grants {
  readonly #options: GrantsOptions;

  constructor(options: GrantsOptions) {
    this.#options = options;
  }

  /** The grant that covers an action, if there is one in force. */
  async grantFor({ subject, event_type, facts, cwd, quorum }: ApprovalRequest): Promise<Grant | undefined> {
    return this.#inForce(grantBindingOf({ ...subject, event_type, facts, cwd, quorum }));
  }

  /** Counts a use. To be committed with the verdict that the grant lets through; fails when it was revoked meanwhile. */
  useChange({ id }: Grant): Change<undefined> {
    return change(approvalTables, "useGrant", { id, at: this.#now().toISOString() });
  }

  get(id: string, tenant: string): Promise<Grant | undefined> {
    return this.#options.store.query(approvalTables, "grant", { id, tenant });
  }

  /** Grants of a tenant, revoked ones too, the oldest first. */
  list(range: GrantRange): Promise<Grant[]> {
    return this.#options.store.query(approvalTables, "grants", range);
  }

  /** Takes a grant back, from the next decision on. */
  async revoke(id: string, person: Answerer & { readonly reason?: string }): Promise<Grant> {
    const { by, tenant, reason = "revoked" } = person;
    expectPerson(person, undefined);
    const { store, ledger, redact } = this.#options;
    const grant = await store.query(approvalTables, "grant", { id, tenant });
    if (!grant) throw new SupervisorError("not_found", `there is no grant ${id}`);
    const at = this.#now().toISOString();
    if (grant.revoked_at !== undefined) throw revokedAlready(grant);
    try {
      const revoke = change(approvalTables, "revokeGrant", { id, at, by });
      await ledger.record([withoutSecrets(revokedDraft(grant, by, reason), redact)], { with: [revoke] });
      return { ...grant, revoked_at: at, revoked_by: by };
    } catch (error) {
      if (!(error instanceof StoreError && error.code === "conflict")) throw error;
      throw revokedAlready((await this.get(id, tenant)) ?? grant);
    }
  }

  /** The grant that an approval turns into: the one in force for the same, or a new one. */
  async from(approval: Approval, expires_ms: number | undefined): Promise<Grant> {
    const { id, tenant, user, agent, chain, enforcement, event_type, tool, facts, cwd } = approval;
    const binding = grantBindingOf(approval);
    const known = await this.#inForce(binding);
    if (known) return known;
    const now = this.#now();
    return {
      id: `grt_${this.#options.randomId()}`,
      ...{ tenant, user, agent, chain, enforcement, event_type, tool, cwd, binding },
      effects: facts.effects,
      ...(!saysAll(facts) && { arguments: facts.arguments }),
      approval: id,
      by: approval.answers.map(({ by }) => by),
      created_at: now.toISOString(),
      ...(expires_ms !== undefined && { expires_at: endOf(now, expires_ms) }),
      uses: 0,
    };
  }

  async #inForce(binding: string): Promise<Grant | undefined> {
    const grant = await this.#options.store.query(approvalTables, "grantFor", { binding });
    return grant && isInForce(grant, this.#now()) ? grant : undefined;
  }

  #now(): Date {
    return this.#options.clock.now();
  }
}

const LONGEST_MS = 10 * 365 * 86_400_000;

function endOf(now: Date, milliseconds: number): string {
  if (milliseconds > 0) return new Date(now.getTime() + Math.min(milliseconds, LONGEST_MS)).toISOString();
  throw new SupervisorError("invalid", `a grant stands for a while, not for ${milliseconds} ms`);
}

function revokedAlready({ id, revoked_by, revoked_at }: Grant): SupervisorError {
  return new SupervisorError("conflict", `the grant ${id} was revoked by ${revoked_by} at ${revoked_at}`);
}
