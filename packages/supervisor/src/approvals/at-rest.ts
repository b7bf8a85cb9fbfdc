import { parseExact } from "@reins/ahp";
import { recordedJson, restoredJson } from "@reins/ledger";
import type { Action } from "@reins/policy";
import { change, type Store } from "@reins/store";
import { type Vault, VaultError } from "../record/vault.ts";
import type { Redact, Redactor } from "../redaction/redactor.ts";
import type { Approval, ApprovalChange } from "./approval.ts";
import type { Grant } from "./grants.ts";
import type { Keyed } from "./request.ts";
import {
  approvalTables,
  type KeptForm,
  type SealedRow,
  type StoredApproval,
  type StoredChange,
  type StoredGrant,
} from "./tables.ts";

/** What is kept was within the bound when it came, and has some levels around it. */
const DEEPEST_KEPT = 1_024;

/** What approvals and grants are kept with. */
export interface AtRestOptions {
  readonly vault: Vault;
  readonly keyed: Keyed;
  readonly redactor: Redactor;
}

/** What may hold secrets of an approval, and of a grant. */
type ExactApproval = Pick<
  Approval,
  "tool" | "facts" | "cwd" | "target_state" | "input_state" | "command" | "rule" | "reason"
>;
type ExactGrant = Pick<Grant, "tool" | "effects" | "cwd" | "arguments" | "input_state" | "prefix">;

const DIGEST = /(?:sha256:)?\b[0-9a-f]{64}\b/g;

/**
 * How approvals and grants lie on the disk: without their secrets, and beside it, sealed, exactly, as long as a person
 * has to see what a yes counts for. What cannot be opened any more takes no yes, and gives none.
 */
export class AtRest {
  readonly #options: AtRestOptions;

  constructor(options: AtRestOptions) {
    this.#options = options;
  }

  /** Removes secrets from texts about an action, also those that only its arguments mark as such. */
  redactFor({ arguments: given, claims }: Action): Redact {
    return this.#options.redactor.knowing([given, claims]);
  }

  /** What is kept of a new approval. */
  approval(approval: Omit<Approval, "entry">): KeptForm {
    const { turn: _turn, state: _state, answers: _answers, ...body } = approval;
    const { tool, facts, cwd, target_state, input_state, command, rule, reason } = body;
    const exact: ExactApproval = {
      ...{ tool, facts, cwd, target_state, reason },
      ...(input_state && { input_state }),
      ...(command && { command }),
      ...(rule !== undefined && { rule }),
    };
    const shown = this.redactFor(facts)({
      ...exact,
      target_state: this.#keyedState(target_state),
      ...(input_state && { input_state: this.#keyedState(input_state) }),
    });
    return this.#form(approvalPlace(approval), body, exact, shown);
  }

  /** An approval that was kept: exactly, as long as it waits for an answer. */
  readApproval({ approval, waits, sealed }: Omit<StoredApproval, "version">): Approval {
    if (!waits) return restored(approval);
    const opened = this.#open(approvalPlace(approval), sealed);
    if (typeof opened !== "string") return { ...restored(approval), options: ["deny"], ...opened };
    return { ...approval, ...exactIn<ExactApproval>(opened) };
  }

  /** A change that was kept. */
  readChange({ seq, at, entry, stored }: StoredChange): ApprovalChange {
    return { seq, at, entry, approval: this.readApproval(stored) };
  }

  /** What is kept of a new grant. */
  grant(grant: Grant): KeptForm {
    const { revoked_at: _at, revoked_by: _by, uses: _uses, used_at: _used, ...body } = grant;
    const { tool, effects, cwd, arguments: given, input_state, prefix } = body;
    const exact: ExactGrant = {
      ...{ tool, effects, cwd },
      ...(given !== undefined && { arguments: given }),
      ...(input_state && { input_state }),
      ...(prefix && { prefix }),
    };
    const kept = { ...exact, ...(input_state && { input_state: this.#keyedState(input_state) }) };
    return this.#form(grantPlace(grant), body, exact, this.#options.redactor.knowing(given)(kept));
  }

  /** A grant that was kept: exactly, as long as it was not revoked. */
  readGrant({ grant, sealed }: StoredGrant): Grant {
    if (grant.revoked_at !== undefined) return restored(grant);
    const opened = this.#open(grantPlace(grant), sealed);
    if (typeof opened !== "string") return { ...restored(grant), ...opened };
    return { ...grant, ...exactIn<ExactGrant>(opened) };
  }

  #form(place: string, body: object, exact: object, shown: unknown): KeptForm {
    return {
      // Read in the store's thread, which could not give numbers of other kinds away.
      body: JSON.stringify(recordedJson({ ...body, ...Object(shown) })),
      sealed: this.#options.vault.seal(place, JSON.stringify(exact)),
    };
  }

  #open(place: string, sealed: string | undefined): string | { readonly unreadable: string } {
    if (sealed === undefined)
      return { unreadable: "its exact form is not there; bring reins.db back from a backup" };
    try {
      return this.#options.vault.open(place, sealed);
    } catch (error) {
      if (error instanceof VaultError) return { unreadable: error.message };
      throw error;
    }
  }

  /** The digest of a short file can be tried out, so only one with our key is kept. */
  #keyedState(state: Approval["target_state"]): Approval["target_state"] {
    const { keyed } = this.#options;
    const keyedDigest = (digest: string) => `hmac-sha256:${keyed.digest("target", digest)}`;
    const entries = Object.entries(state).map(([path, was]) => [path, was.replace(DIGEST, keyedDigest)]);
    return Object.fromEntries(entries);
  }
}

/** What was kept, with its numbers to the digit. */
function restored<Kept extends object>(kept: Kept): Kept {
  return { ...kept, ...Object(restoredJson(kept)) };
}

/** What we sealed ourselves. */
function exactIn<Exact extends object>(text: string): Exact {
  return Object(parseExact(text, DEEPEST_KEPT));
}

/** Where an approval is sealed. The binding is part of it, so that no yes counts for anything but what was shown. */
function approvalPlace({ id, binding }: Pick<Approval, "id" | "binding">): string {
  return `approvals/${id}/${binding}`;
}

/** Where a grant is sealed. */
function grantPlace({ id, binding }: Pick<Grant, "id" | "binding">): string {
  return `approval_grants/${id}/${binding}`;
}

const PAGE = 100;

/** Seals approvals and grants anew that were sealed with a key that is no longer the newest. */
export async function renewApprovalSeals(
  store: Pick<Store, "query" | "commit">,
  vault: Vault,
): Promise<void> {
  const keys = vault.formerKeys;
  if (keys.length === 0) return;
  for (let after = ""; ; ) {
    const page = await store.query(approvalTables, "sealedWithKeys", { keys, after, limit: PAGE });
    const last = page.at(-1);
    if (!last) return;
    after = last.id;
    const changes = page.flatMap((row) => {
      const sealed = vault.renew(placeOf(row), row.sealed);
      return sealed === undefined ? [] : [change(approvalTables, "renewSeal", { ...row, sealed })];
    });
    await store.commit(changes);
  }
}

function placeOf(row: SealedRow): string {
  return row.kind === "approval" ? approvalPlace(row) : grantPlace(row);
}
