import { type Change, change, type Store } from "@reins/store";
import { scrubbed } from "../record/scrubbed.ts";
import type { ApprovalAnswer } from "./approval.ts";
import { AtRest, type AtRestOptions } from "./at-rest.ts";
import { bindingOf } from "./binding.ts";
import { grantBindingOf } from "./grant-binding.ts";
import { approvalTables, type PlainRow } from "./tables.ts";

const PAGE = 100;

/** What sealing stands on. */
interface SealPlainOptions extends AtRestOptions {
  readonly store: Pick<Store, "query" | "commit" | "scrub">;
  readonly onError: (error: unknown) => void;
}

/**
 * Seals the approvals and grants that an earlier version kept as they are, and leaves nothing of that in the files. May
 * be interrupted anywhere: the next start goes on. Entries of the ledger stay as they were written.
 */
export async function sealPlainApprovals(options: SealPlainOptions): Promise<void> {
  const { store, onError } = options;
  if (!(await store.query(approvalTables, "hasPlain", null))) return;
  const atRest = new AtRest(options);
  for (;;) {
    const page = await store.query(approvalTables, "plain", { limit: PAGE });
    if (page.length === 0) break;
    await store.commit(page.map((row) => sealed(row, atRest, options)));
  }
  if (await scrubbed(store, onError)) await store.commit([change(approvalTables, "forgetPlain", null)]);
}

function sealed(row: PlainRow, atRest: AtRest, options: AtRestOptions): Change<undefined> {
  return row.kind === "approval" ? sealedApproval(row, atRest, options) : sealedGrant(row, atRest, options);
}

function sealedApproval(
  { approval, changes }: Extract<PlainRow, { kind: "approval" }>,
  atRest: AtRest,
  { keyed, redactor }: AtRestOptions,
): Change<undefined> {
  const binding = bindingOf({ ...approval, subject: approval }, keyed);
  const form = atRest.approval({ ...approval, binding });
  const told = (answers: readonly ApprovalAnswer[]) =>
    answers.map(({ note, ...answer }) => ({
      ...answer,
      ...(note !== undefined && { note: redactor.text(note) }),
    }));
  return change(approvalTables, "sealApproval", {
    id: approval.id,
    binding,
    form: approval.state === "pending" ? form : { body: form.body },
    answers: told(approval.answers),
    changes: changes.map(({ seq, answers }) => ({ seq, answers: told(answers) })),
  });
}

/** A grant whose approval is gone cannot be bound anew; without its exact form it counts no more. */
function sealedGrant(
  { grant, of }: Extract<PlainRow, { kind: "grant" }>,
  atRest: AtRest,
  { keyed }: AtRestOptions,
): Change<undefined> {
  const binding = of ? grantBindingOf(of, keyed) : grant.binding;
  const form = atRest.grant({ ...grant, binding });
  const counts = of !== undefined && grant.revoked_at === undefined;
  return change(approvalTables, "sealGrant", {
    id: grant.id,
    binding,
    form: counts ? form : { body: form.body },
  });
}
