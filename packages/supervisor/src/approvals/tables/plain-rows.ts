import type { Database } from "@reins/store";
import { z } from "zod";
import { APPROVAL_STATES, type Approval, type ApprovalAnswer } from "../approval.ts";
import type { Grant } from "../grant.ts";
import type { ApprovalChanges, ApprovalQueries, PlainRow } from "../tables.ts";

const ApprovalRow = z.object({ body: z.string(), state: z.enum(APPROVAL_STATES), answers: z.string() });
const ChangeRow = z.object({ seq: z.number(), answers: z.string() });
const GrantRow = z.object({ body: z.string(), revoked_at: z.string().nullable(), of: z.string().nullable() });
const Waiting = z.object({ id: z.string(), kind: z.enum(["approval", "grant"]) });

/** The changes by which what an earlier version kept as it is becomes sealed. */
export function plainChanges(
  database: Database,
): Pick<ApprovalChanges, "sealApproval" | "sealGrant" | "forgetPlain"> {
  const approval = database.prepare(
    "UPDATE approvals SET binding = ?, body = ?, sealed = ?, answers = ? WHERE id = ?",
  );
  const answers = database.prepare("UPDATE approval_changes SET answers = ? WHERE seq = ?");
  const grant = database.prepare("UPDATE approval_grants SET binding = ?, body = ?, sealed = ? WHERE id = ?");
  const done = database.prepare("UPDATE approvals_plain SET done = 1 WHERE id = ?");
  return {
    sealApproval({ id, binding, form, changes, ...row }) {
      approval.run(binding, form.body, form.sealed ?? null, JSON.stringify(row.answers), id);
      for (const change of changes) answers.run(JSON.stringify(change.answers), change.seq);
      done.run(id);
    },
    sealGrant({ id, binding, form }) {
      grant.run(binding, form.body, form.sealed ?? null, id);
      done.run(id);
    },
    forgetPlain: () => void database.exec("DELETE FROM approvals_plain"),
  };
}

/** The queries about what is kept as it is. */
export function plainQueries(database: Database): Pick<ApprovalQueries, "plain" | "hasPlain"> {
  const waiting = database.prepare(
    "SELECT id, kind FROM approvals_plain WHERE done = 0 ORDER BY kind DESC, place LIMIT ?",
  );
  const approval = database.prepare("SELECT body, state, answers FROM approvals WHERE id = ?");
  const changes = database.prepare("SELECT seq, answers FROM approval_changes WHERE approval = ?");
  const grant = database.prepare(
    `SELECT g.body, g.revoked_at, a.body AS of FROM approval_grants g
     LEFT JOIN approvals a ON a.id = g.body ->> '$.approval' WHERE g.id = ?`,
  );
  const any = database.prepare("SELECT 1 FROM approvals_plain LIMIT 1");
  const plainApproval = (id: string): PlainRow => {
    const { body, state, answers } = ApprovalRow.parse(approval.get(id));
    const content: Omit<Approval, "turn" | "state" | "answers" | "entry"> = JSON.parse(body);
    const steps = changes.all(id).map((row) => ChangeRow.parse(row));
    return {
      kind: "approval",
      approval: { ...content, state, answers: answersIn(answers) },
      changes: steps.map(({ seq, answers: given }) => ({ seq, answers: answersIn(given) })),
    };
  };
  const plainGrant = (id: string): PlainRow => {
    const { body, revoked_at, of } = GrantRow.parse(grant.get(id));
    const content: Omit<Grant, "uses" | "revoked_at"> = JSON.parse(body);
    const kept = { ...content, uses: 0, ...(revoked_at !== null && { revoked_at }) };
    return { kind: "grant", grant: kept, ...(of !== null && { of: JSON.parse(of) }) };
  };
  return {
    // Grants first: what they count for is made out of the approvals they came from, as those were kept.
    plain: ({ limit }) =>
      waiting.all(limit).map((row) => {
        const { id, kind } = Waiting.parse(row);
        return kind === "grant" ? plainGrant(id) : plainApproval(id);
      }),
    hasPlain: () => any.get() !== undefined,
  };
}

function answersIn(text: string): ApprovalAnswer[] {
  return JSON.parse(text);
}
