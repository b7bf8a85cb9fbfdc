import { errorMessage } from "@reins/kit";
import { permitsAction } from "@reins/policy";
import { StoreError } from "@reins/store";
import { limitTables } from "../limits/tables.ts";
import type { Buffered } from "../record/buffered-records.ts";
import type { VerdictRecord } from "../record/record.ts";
import type { Decided, DecisionRequest, PendingDecision, Unrecorded } from "./decision.ts";
import type { PipelinePorts } from "./supervisor.ts";

/**
 * Writes the verdict: one that allows something before it is returned, any other a little later. Gives `undefined` when
 * what it was decided by has changed meanwhile.
 */
export function commitVerdict(decision: PendingDecision, ports: PipelinePorts): Promise<Decided | undefined> {
  const { request, input, state, modified, said, failedOpen, uses = [] } = decision;
  const { hashes, argumentPaths } = state.policy;
  const decided = decision.decided();
  const modifiedFrom = modified?.from;
  const record = { input, decided, hashes, policy: said, modifiedFrom, argumentPaths, failedOpen };
  if (permitsAction(decided.verdict)) return commitAllowed(decision, record, ports);
  state.limits.release(uses);
  return returned(decided, ports.writer.later(request, record));
}

/** A verdict that allows nothing is returned before it is written, unless too many wait to be. */
async function returned(decided: Unrecorded, { room, written }: Buffered): Promise<Decided> {
  if (room) await room;
  return { ...decided, written };
}

async function commitAllowed(
  decision: PendingDecision,
  record: VerdictRecord,
  ports: PipelinePorts,
): Promise<Decided | undefined> {
  const { uses = [], request } = decision;
  // Where other processes count against the same limits, only the store knows whether they are used up.
  const isConditional = uses.length > 0 && ports.store.node !== undefined;
  const deferred = request.requestContext.deferred === true && !isConditional;
  const writing = writeAllowed(decision, record, ports, { deferred, isConditional });
  return deferred ? { ...record.decided, written: writing.then((written) => written?.entry) } : writing;
}

async function writeAllowed(
  { request, input, state, uses = [], changes, isApproved: approved }: PendingDecision,
  record: VerdictRecord,
  ports: PipelinePorts,
  { deferred, isConditional }: { readonly deferred: boolean; readonly isConditional: boolean },
): Promise<Decided | undefined> {
  const { writer, approvals, open } = ports;
  state.history.note(input);
  try {
    const condition = isConditional ? { approved } : undefined;
    const kept =
      uses.length > 0 ? state.limits.changesFor(input.subject.tenant, uses, input.at, condition) : [];
    const own = request.requestContext.commits?.(record.decided) ?? [];
    const { entries } = await writer.now(request, record, [...changes, ...kept, ...own], { deferred });
    const entry = entries[0]?.cid;
    if (changes.length > 0) approvals.announce();
    const { event_type, at, action } = input;
    const isReserved = request.requestContext.reserves !== undefined;
    if (entry !== undefined)
      open.add(request.subject, { entry, tool: action.tool, event_type, uses, at, isReserved });
    return { ...record.decided, entry };
  } catch (error) {
    state.history.takeBack(input);
    state.limits.release(uses);
    if (error instanceof StoreError && error.code === "exhausted") {
      await state.limits.refresh(uses, input.at, (range) => ports.store.query(limitTables, "of", range));
      return undefined;
    }
    writer.report(error);
    return refuseEvent(request, `the verdict could not be written: ${errorMessage(error)}`, ports);
  }
}

/** Blocks what could not be decided or written, and records that. */
export function refuseEvent(
  request: DecisionRequest,
  reason: string,
  { writer }: Pick<PipelinePorts, "writer">,
): Promise<Decided> {
  const { enforcement } = request.subject;
  const decided: Unrecorded = { verdict: "blocked", reason, rule: undefined, enforcement, entry: undefined };
  return returned(decided, writer.refused(request, decided));
}
