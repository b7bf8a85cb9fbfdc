import { errorMessage } from "@reins/kit";
import { permitsAction, type Subject } from "@reins/policy";
import { type Change, change } from "@reins/store";
import type { Approvals } from "../approvals/approvals.ts";
import { limitTables } from "../limits/tables.ts";
import type { Decided, DecisionContext, DecisionRequest } from "./decision-context.ts";
import type { OpenCalls } from "./open-calls.ts";
import type { VerdictRecord } from "./verdict-record.ts";
import type { VerdictWriter } from "./verdict-writer.ts";

/** What decisions are concluded with. */
export interface VerdictCommitterOptions {
  readonly writer: VerdictWriter;
  readonly approvals: Pick<Approvals, "announce">;
  /** Holds allowed calls until their end is reported. */
  readonly open: OpenCalls;
}

/** Commits verdicts: an allowing verdict is on the disk before it is returned, and one that cannot be written blocks. */
export class VerdictCommitter {
  readonly #options: VerdictCommitterOptions;

  constructor(options: VerdictCommitterOptions) {
    this.#options = options;
  }

  /** Writes the verdict down, and only then lets it out. */
  commit(context: DecisionContext): Promise<Decided> {
    const { request, input, verdict, outcome, state, modified, said, failedOpen } = context;
    const decided: Omit<Decided, "entry"> = {
      verdict: outcome,
      reason: verdict.reason,
      rule: context.rule,
      enforcement: request.subject.enforcement,
      ...(context.approval && { approval: context.approval.id }),
      ...(verdict.retry_after_ms !== undefined && { retry_after_ms: verdict.retry_after_ms }),
      ...(modified && outcome === "modify" && { modified_arguments: modified.arguments }),
    };
    const { hashes, argumentPaths } = state.policy;
    const record = {
      input,
      decided,
      hashes,
      policy: said,
      modifiedFrom: modified?.from,
      argumentPaths,
      failedOpen,
    };
    return permitsAction(outcome) ? this.#release(context, record) : this.#hold(context, record);
  }

  /** Blocks what could not be decided, or not be written. */
  async refuse(request: DecisionRequest, reason: string): Promise<Decided> {
    const decided = blocked(request.subject, reason);
    const { room, written } = this.#options.writer.refused(request, decided);
    if (room) await room;
    return { ...decided, written };
  }

  /** Returns a verdict that allows nothing; it is written a little later. */
  async #hold({ request, state, uses = [] }: DecisionContext, record: VerdictRecord): Promise<Decided> {
    state.limits.release(uses);
    const { room, written } = this.#options.writer.later(request, record);
    if (room) await room;
    return { ...record.decided, entry: undefined, written };
  }

  /** Returns an allowing verdict once it is on the disk. */
  async #release(context: DecisionContext, record: VerdictRecord): Promise<Decided> {
    const { writer, approvals, open } = this.#options;
    const { request, input, state, uses = [], changes } = context;
    state.history.note(input);
    try {
      const { entries } = await writer.now(request, record, [...changes, ...usesKept(context)]);
      const entry = entries[0]?.cid;
      if (changes.length > 0) approvals.announce();
      const { event_type, at, action } = input;
      if (entry !== undefined) open.add(request.subject, { entry, tool: action.tool, event_type, uses, at });
      return { ...record.decided, entry };
    } catch (error) {
      state.history.takeBack(input);
      state.limits.release(uses);
      writer.tell(error);
      return this.refuse(request, `the verdict could not be written: ${errorMessage(error)}`);
    }
  }
}

/** The changes of limits that an allowing verdict makes. */
function usesKept({ input, state, uses = [] }: DecisionContext): Change<undefined>[] {
  if (uses.length === 0) return [];
  const before = state.limits.forgetOld(input.at);
  const kept = change(limitTables, "keep", { uses });
  if (before === undefined) return [kept];
  return [kept, change(limitTables, "forget", { tenant: input.subject.tenant, before })];
}

function blocked(subject: Subject, reason: string): Decided {
  return { verdict: "blocked", reason, rule: undefined, enforcement: subject.enforcement, entry: undefined };
}
