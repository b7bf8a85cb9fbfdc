import { isObject, type JsonObject, RpcError } from "@reins/acp";
import type { Draft } from "@reins/ledger";
import {
  type CallEnd,
  type Decided,
  type Enforcement,
  type EventType,
  resultDraft,
  type Subject,
  sessionKey,
  UNGATED,
  type Usage,
} from "@reins/supervisor";
import {
  agentOf,
  type ControlPoint,
  type ControlRequest,
  isPreparation,
  recordedSubject,
  toolOf,
  traitsOf,
} from "./control-point.ts";
import type { ControlContext, ControlScope } from "./scope.ts";

/** Notes an allowed action: in its turn, as settled where nothing follows, and as a call that begins. */
export async function noteAllowed(
  scope: ControlScope,
  point: ControlPoint,
  { event, subject }: ControlRequest,
  verdict: Decided,
): Promise<void> {
  const { entry, written } = verdict;
  const settle = async (cid: string | undefined) => {
    if (cid !== undefined && traitsOf(point).inTurn) scope.turn?.entries.push(cid);
    if (SETTLED_AT_ONCE.has(point.kind) || isPreparation(point))
      await scope.context.harness.supervisor.settle(subject, { event_type: event.event_type, entry: cid });
    return cid;
  };
  if (entry === undefined && written && scope.turn) scope.turn.defer(written.then(settle));
  else await settle(entry);
  if (point.kind !== "tool_call" && point.kind !== "mcp_call" && point.kind !== "graph_action") return;
  const { id, reported } = point.call;
  const rawInput =
    point.kind !== "mcp_call" && verdict.verdict === "modify"
      ? verdict.modified_arguments
      : reported.rawInput;
  const call = { id, reported: { ...reported, rawInput } };
  recordIn(scope, [toolCallDraft(subject, call, { tool: toolOf(point), verdict: entry })]);
}

/** Kinds of points whose action is over when it is decided, or ends with its turn: no result of their own follows. */
const SETTLED_AT_ONCE: ReadonlySet<ControlPoint["kind"]> = new Set([
  "session_start",
  "agent_command",
  "mcp_definition",
  "unprompted_work",
  "after_the_fact",
]);

/** Records a call that no verdict came before, with its outcome. */
export function recordSeen(scope: ControlScope, point: ControlPoint, subject: Subject): void {
  if (point.kind !== "after_the_fact" || !point.seen) return;
  const { call, outcome } = point.seen;
  const tool = toolOf(point);
  const began = toolCallDraft(subject, call, { tool, verdict: undefined });
  recordIn(scope, [
    { ...began, tags: [...(began.tags ?? []), UNGATED] },
    resultDraft(subject, { tool, outcome }, undefined),
  ]);
}

/** A file that Reins wrote for an action. */
export interface WrittenFile {
  readonly path: string;
  /** BLAKE3, in hexadecimal. */
  readonly content_hash: string;
  readonly sha256?: string;
  readonly bytes?: number;
}

/** How an allowed action ended. */
interface Completion {
  readonly tool: string;
  /** The entry of its verdict. */
  readonly entry: string | undefined;
  readonly outcome: string;
  readonly enforcement: Enforcement;
  /** Files that Reins wrote for it. */
  readonly written?: readonly WrittenFile[];
  /** False for one that does not belong to the turn under way. */
  readonly inTurn?: boolean;
}

/** Settles an allowed action and records its outcome: one result for each verdict. */
export async function complete(scope: ControlScope, completion: Completion): Promise<void> {
  recordIn(scope, [await settleAction(scope, completion)], completion);
}

/** Settles an allowed action with what it used, and returns the entry of its outcome, to be recorded by the caller. */
export async function settleAction(
  scope: ControlScope,
  { tool, entry, outcome, enforcement, written = [] }: Completion,
  usage?: Partial<Usage>,
): Promise<ReturnType<typeof resultDraft>> {
  const subject = recordedSubject(scope, enforcement);
  const { supervisor } = scope.context.harness;
  const call = await supervisor.settle(subject, { event_type: "pre_action", entry, outcome }, usage);
  const draft = resultDraft(subject, { tool, outcome }, call);
  return { ...draft, payload: { ...draft.payload, ...(written.length > 0 && { written }) } };
}

/** Completes a setting that a verdict allowed. It belongs to no turn. */
export function completeSetting(
  scope: ControlScope,
  { tool, entry, outcome }: Pick<Completion, "tool" | "entry" | "outcome">,
): Promise<void> {
  return complete(scope, { tool, entry, outcome, enforcement: "performed", inTurn: false });
}

/** Performs an allowed action, and completes it by whether that succeeds. */
export async function perform<Value>(
  scope: ControlScope,
  call: Pick<Completion, "tool" | "entry">,
  run: () => Promise<Value>,
): Promise<Value> {
  const completed = { ...call, enforcement: "performed" } as const;
  try {
    const value = await run();
    await complete(scope, { ...completed, outcome: "completed" });
    return value;
  } catch (error) {
    await complete(scope, { ...completed, outcome: "failed" });
    throw error;
  }
}

/**
 * Settles an allowed prompt, that with the entry where one is named: what it used counts towards limits, also where no
 * prompt is open any more.
 */
export async function chargePrompt(
  scope: ControlScope,
  usage: Partial<Usage>,
  {
    enforcement = scope.context.enforcement,
    ...end
  }: { readonly enforcement?: Enforcement } & Pick<CallEnd, "entry" | "tokens"> = {},
): Promise<void> {
  const subject = recordedSubject(scope, enforcement);
  await scope.context.harness.supervisor.settle(subject, { ...end, event_type: "pre_prompt" }, usage);
}

/**
 * Records entries of a session with the next commit and, if they belong to its turn, adds them to it; the turn ends when
 * they are written.
 */
export function recordIn(
  scope: ControlScope,
  drafts: readonly Draft[],
  { inTurn = true }: Pick<Completion, "inTurn"> = {},
): void {
  const { harness, onFault } = scope.context;
  const turn = inTurn ? scope.turn : undefined;
  for (const { quality, payload } of drafts)
    if (quality === "tool_result") {
      const { tool, outcome, ...more } = isObject(payload) ? payload : {};
      const result = { status: outcome, success: outcome === "completed" };
      forwardIn(scope, "post_action", { tool_name: tool, result, ...more });
    }
  const recording = harness.record(drafts, { durable: false, relaxed: true }).then(
    ({ entries }) => void turn?.entries.push(...entries.map(({ cid }) => cid)),
    (error: unknown) => onFault(`an entry could not be written: ${String(error)}`),
  );
  turn?.awaits(recording);
}

/** Forwards what happened in a session to external harnesses that list such events, redacted. */
export function forwardIn(scope: ControlScope, event_type: EventType, payload: unknown): void {
  const { harness, principal, now } = scope.context;
  // What no harness receives need not be redacted.
  if (!hasHarnesses(scope.context)) return;
  harness.forward(principal.tenant, {
    event_type,
    session_id: scope.id,
    agent_id: agentOf(scope),
    depth: scope.depth,
    timestamp: now().toISOString(),
    payload: harness.redact(payload),
  });
}

/** The policy that decides in a session now. */
export function policyOf({ context }: Pick<ControlScope, "context">) {
  const { harness, principal } = context;
  return harness.policies.inForce.get(principal.tenant);
}

/** Whether the policy names external harnesses. */
export function hasHarnesses(context: ControlContext): boolean {
  return (policyOf({ context })?.file.harnesses.length ?? 0) > 0;
}

/** The entry for the start of a tool call, with what the agent says about it. */
export function toolCallDraft(
  subject: Subject,
  call: { readonly id: string; readonly reported: JsonObject },
  { tool, verdict }: { readonly tool: string; readonly verdict: string | undefined },
): Draft {
  const { title, kind, rawInput } = call.reported;
  return {
    quality: "tool_call",
    actor: subject.agent,
    target: tool,
    entity_id: sessionKey(subject),
    tags: [`call:${call.id}`],
    payload: {
      tool,
      call: call.id,
      verdict: verdict ?? null,
      claims: { title: title ?? null, kind: kind ?? null },
      arguments: rawInput ?? null,
    },
  };
}

/** The JSON-RPC code of a request that was not allowed. */
export const REFUSED = -32010;

/** What the wire carries of a verdict, under `_meta.reins`. */
export function verdictMeta({ verdict, reason, rule, enforcement, entry, approval }: Decided): {
  reins: Record<string, unknown>;
} {
  return {
    reins: {
      verdict,
      reason,
      enforcement,
      ...(rule !== undefined && { rule }),
      ...(entry !== undefined && { entry }),
      ...(approval !== undefined && { approval }),
    },
  };
}

/** A verdict with its entry in the ledger, awaited where the verdict came before it was written. */
export async function placed(decided: Decided): Promise<Decided> {
  const { entry = await decided.written } = decided;
  return { ...decided, entry };
}

/** The error of a request that was not allowed. */
export async function refusal(what: string, decided: Decided): Promise<RpcError> {
  const data = verdictMeta(await placed(decided));
  return new RpcError(REFUSED, `${what} was not allowed: ${decided.reason}`, data);
}
