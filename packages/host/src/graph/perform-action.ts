import { createHash } from "node:crypto";
import {
  type Attempt,
  type AttemptRequest,
  type GraphAction,
  needsSummarizer,
  outputSummary,
  type RunScope,
} from "@reins/graph";
import { errorMessage } from "@reins/kit";
import type { Draft } from "@reins/ledger";
import { sessionKey } from "@reins/supervisor";
import { type ControlPoint, confirmRights, recordedSubject, requestFor } from "../control/control-point.ts";
import { enforce } from "../control/enforce.ts";
import { forwardIn, placed, settleAction } from "../control/outcome.ts";
import type { Summarize } from "./agent-executors.ts";
import {
  type ActionCall,
  beginOnce,
  mayRepeat,
  type PerformedAction,
  type PlannedAction,
  RESULT_LIMITS,
  type RunExecutor,
  reasonOf,
  UNKNOWN_OUTCOME,
} from "./executor.ts";
import type { GraphRun } from "./graph-run.ts";
import { openVerdicts } from "./open-verdicts.ts";
import type { RecordedJournal } from "./recorded-journal.ts";
import { insisted } from "./runtime-executors.ts";
import type { SealedArtifact } from "./sealed-artifacts.ts";
import type { RunDisplay } from "./show-run.ts";

/** What an attempt needs of the runtime. */
export interface AttemptPorts {
  /** Chooses who executes the action, and resolves what it refers to. */
  readonly prepare: (
    run: GraphRun,
    request: AttemptRequest,
  ) => Promise<{ readonly executor: RunExecutor; readonly call: ActionCall }>;
  readonly artifacts: { readonly put: (output: string) => Promise<SealedArtifact> };
  readonly journal: Pick<RecordedJournal<unknown, unknown>, "recordWith" | "entry" | "relax">;
  readonly display: Pick<RunDisplay, "card" | "progress">;
  /** Has a long result summed up, where the operator wants that. */
  readonly summarize?: Summarize | undefined;
  /** Whether the runtime stops: then nothing more is recorded, and the run is continued by the next one. */
  readonly isStopping: () => boolean;
}

/** What the journal of an earlier process says about an attempt. */
export interface EarlierAttempt {
  /** It was allowed as what the digest binds, with these arguments if the verdict changed them. */
  readonly allowed?:
    | { readonly binding?: string; readonly modified?: { readonly arguments: unknown } }
    | undefined;
  /** It was done, and its result was being summed up. */
  readonly performed?: PerformedAction | undefined;
}

/** One attempt at an action: prepare, decide, perform, record. Never rejects for what an executor does. */
export async function attemptAction(
  run: GraphRun,
  request: AttemptRequest,
  scope: RunScope,
  earlier: EarlierAttempt,
  ports: AttemptPorts,
): Promise<Attempt> {
  const { action, signal } = request;
  let made: ActionAttempt | undefined;
  try {
    const { executor, call } = await ports.prepare(run, request);
    const planned = await executor.plan(call);
    run.note(action.id, {
      executor: { type: executor.type, name: executor.name },
      ...(call.input && { input: call.input }),
      ...(call.prompt !== undefined && { prompt: call.prompt }),
      ...(planned.assignment && { assignment: planned.assignment }),
    });
    made = new ActionAttempt({ run, scope, executor, call, planned, ports });
    try {
      return await made.make(earlier, signal);
    } finally {
      if (signal.aborted && !ports.isStopping()) await withdrawQuestions(call);
    }
  } catch (error) {
    if (ports.isStopping()) return never();
    // What was done is done, also where nothing can be said of it: no policy repeats that.
    const isUnknown = made?.hasActed === true;
    return { kind: "failed", reason: shownReason(action, reasonOf(error)), isUnknown };
  }
}

/** Why an attempt failed tells of its result and its input, and becomes the reason of its run: it is withheld as they are. */
function shownReason({ visibility: { user, model } }: GraphAction, reason: string): string {
  return user && model ? reason : WITHHELD;
}

/** Takes back what a canceled attempt asked people. */
async function withdrawQuestions({ place }: ActionCall): Promise<void> {
  const { context, session, turn } = place;
  const { tenant, id } = session.record;
  await context.harness.approvals.withdraw(
    { tenant, session: id, turn: turn?.id },
    "the action was canceled",
  );
}

interface AttemptParts {
  readonly run: GraphRun;
  readonly scope: RunScope;
  readonly executor: RunExecutor;
  readonly call: ActionCall;
  readonly planned: PlannedAction;
  readonly ports: AttemptPorts;
}

/** One attempt that was prepared. */
class ActionAttempt {
  readonly #parts: AttemptParts;
  /** The name of the attempt's result in the journal. */
  readonly #name: string;
  /** The verdict that allowed it. */
  #entry: string | undefined;
  /** Whether something may have been done that only repeats where its executor may. */
  hasActed = false;

  constructor(parts: AttemptParts) {
    this.#parts = parts;
    this.#name = parts.call.key.slice(parts.run.key.length + 1);
  }

  async make(earlier: EarlierAttempt, signal: AbortSignal): Promise<Attempt> {
    const { planned, ports, run, call, executor } = this.#parts;
    if (earlier.performed) {
      await this.#decidedBefore({});
      return this.#completed(earlier.performed, signal);
    }
    if (run.details(call.action.id).card !== call.call && !earlier.allowed) {
      await ports.display.card(run, call, planned);
      run.note(call.action.id, { card: call.call });
    }
    const decided =
      earlier.allowed && (await this.#stillAllowed(earlier.allowed.binding))
        ? await this.#decidedBefore(earlier.allowed)
        : await this.#decide(signal);
    if (ports.isStopping()) return never();
    if (decided.kind === "refused") {
      await ports.display.progress(run, call, "failed", `Not allowed: ${decided.reason}`);
      return { kind: "blocked", reason: decided.reason };
    }
    await ports.display.progress(run, call, "in_progress");
    if (!(await this.#begin())) return this.#end({ outcome: "unknown", reason: UNKNOWN_OUTCOME });
    const given = decided.modified ? decided.modified.arguments : planned.arguments;
    let performed: PerformedAction;
    try {
      signal.throwIfAborted();
      this.hasActed = !mayRepeat(executor, call.action);
      performed = await planned.perform(given, signal);
    } catch (error) {
      if (ports.isStopping()) return never();
      return this.#end({ outcome: "failed", reason: reasonOf(error) });
    }
    if (ports.isStopping() && signal.aborted) return never();
    if (performed.isError) {
      const { refused, isUnknown = false } = performed;
      const ended = await this.#end({
        ...{ outcome: isUnknown ? "unknown" : "failed", performed },
        reason: refused ?? outputSummary(performed.output),
      });
      // What a rule or a person denied is not tried again, and passed over by no policy.
      return refused === undefined ? ended : { kind: "blocked", reason: refused, usage: ended.usage };
    }
    return this.#completed(performed, signal);
  }

  /** Ends what was done, summed up where its result has no summary that fits. What was done is stored before that. */
  async #completed(performed: PerformedAction, signal: AbortSignal): Promise<Attempt> {
    const { call, ports, run, scope } = this.#parts;
    const end = (done: PerformedAction) => this.#end({ outcome: "completed", reason: "", performed: done });
    // People see the session of the agent that sums up.
    const isShown = call.action.visibility.user && call.action.visibility.model;
    if (!ports.summarize || !isShown || !needsSummarizer(call.action, performed, RESULT_LIMITS))
      return end(performed);
    if (run.graph.isDurable) await scope.step(performedName(this.#name), async () => performed);
    const summed = await ports.summarize(call, performed, signal).catch(() => undefined);
    if (ports.isStopping()) return never();
    const usage = added(performed.usage, summed?.usage);
    return end({ ...performed, usage, summary: summed?.summary ?? performed.summary });
  }

  /** What is decided. */
  get #point(): ControlPoint {
    const { run, call, planned, executor, ports } = this.#parts;
    const { action } = call;
    const { key } = run;
    return {
      kind: "graph_action",
      tools: planned.tools,
      // What an agent does is decided in its own session.
      mayWrite: executor.type === "tool" && !executor.usesTokens ? call.mayWrite : undefined,
      payload: {
        tool_name: planned.tool,
        arguments: planned.arguments,
        ...(planned.kind !== undefined && { kind: planned.kind }),
        title: action.title,
        graph: {
          run_id: run.id,
          action_id: action.id,
          title: action.title,
          reason: action.reason,
          operation: action.operation,
          depends_on: action.dependsOn,
          executor: `${executor.type}:${executor.name}`,
        },
      },
      call: { id: call.call, reported: { title: action.title, rawInput: planned.arguments } },
      mustAsk:
        action.approval === undefined ? planned.mustAsk : insisted(action.approval, action.gateMessage),
      commits: (decided) => [
        ports.journal.entry(key, allowedName(this.#name), {
          binding: this.#binding,
          ...(decided.verdict === "modify" && { modified: { arguments: decided.modified_arguments } }),
        }),
      ],
    };
  }

  /** The digest of what is decided. */
  get #binding(): string {
    const { tool, arguments: given } = this.#parts.planned;
    return createHash("sha256")
      .update(JSON.stringify([tool, given]))
      .digest("hex");
  }

  /** Whether a verdict of an earlier process was about the same, and the policy of now does not block that. */
  async #stillAllowed(binding: string | undefined): Promise<boolean> {
    if (binding !== this.#binding) return false;
    const { place } = this.#parts.call;
    const { event, subject, requestContext, forbidden } = requestFor(place, this.#point);
    if (forbidden !== undefined) return false;
    const foreseen = await place.context.harness.supervisor.foresee(event, subject, requestContext);
    return foreseen !== undefined && foreseen.verdict !== "blocked";
  }

  /** Has it decided, and waits for people where they are asked. */
  async #decide(signal: AbortSignal): Promise<Decision> {
    const { run, call, ports } = this.#parts;
    const { action, place } = call;
    const point = this.#point;
    const onAsk = (approval: string) => {
      run.note(action.id, { approval });
      call.waits("permission");
    };
    const enforced = await enforce(place, point, { signal, onAsk }).catch(async (error: unknown) => {
      // Nothing waits for the answer any more; one that only the next process waits for stays.
      if (!ports.isStopping()) await this.#withdraw();
      throw error;
    });
    const verdict = await placed(enforced.verdict);
    this.#entry = verdict.entry;
    call.waits(undefined);
    run.note(action.id, { verdict: verdict.entry });
    if (enforced.kind === "refused") {
      // Also where it was answered while nothing ran; none where a rule refused it.
      run.note(action.id, { approval: enforced.verdict.approval });
      return { kind: "refused", reason: enforced.reason };
    }
    return {
      kind: "allowed",
      ...(enforced.kind === "modified" && { modified: { arguments: enforced.arguments } }),
    };
  }

  async #withdraw(): Promise<void> {
    const { id: session, principal, turn, context } = this.#parts.call.place;
    if (!turn) return;
    const asked = { tenant: principal.tenant, session, turn: turn.id };
    await context.harness.approvals.withdraw(asked, "the action was canceled");
  }

  /** A verdict of an earlier process stands, unless the principal has lost its rights since. */
  async #decidedBefore({ modified }: NonNullable<EarlierAttempt["allowed"]>): Promise<Decision> {
    const { call, run } = this.#parts;
    try {
      await confirmRights(call.place);
    } catch (error) {
      return { kind: "refused", reason: errorMessage(error) };
    }
    const { place, action } = call;
    const chain = sessionKey(recordedSubject(place, "performed"));
    const open = await openVerdicts(place.context.harness, chain, run);
    const { tool } = this.#parts.planned;
    this.#entry = open.find((one) => one.action === action.id && one.tool === tool)?.cid;
    if (this.#entry !== undefined) run.note(call.action.id, { verdict: this.#entry });
    return { kind: "allowed", ...(modified && { modified }) };
  }

  /** Stores that the effect begins, where it must not happen twice. False if an earlier process had begun it. */
  async #begin(): Promise<boolean> {
    const { executor, call, scope, run, planned } = this.#parts;
    if (!run.graph.isDurable || planned.goesOn || executor.hasParts) return true;
    if (mayRepeat(executor, call.action)) return true;
    return beginOnce(scope, this.#name);
  }

  /** Settles and records how it ended, with its full output as an artifact. */
  async #end({
    outcome,
    reason: why,
    performed,
  }: {
    readonly outcome: "completed" | "failed" | "unknown";
    readonly reason: string;
    readonly performed?: PerformedAction;
  }): Promise<Attempt> {
    const { run, call, planned, ports } = this.#parts;
    const { place, action } = call;
    const reason = outcome === "failed" ? shownReason(action, why) : why;
    const { untilRoom } = call;
    const artifact =
      performed && action.result.store_full
        ? await untilRoom(() => ports.artifacts.put(textOf(performed.output)))
        : undefined;
    const { tokens, cost } = performed?.usage ?? {};
    const usage = { ...(tokens !== undefined && { tokens }), ...(cost !== undefined && { cost }) };
    const completion = { tool: planned.tool, entry: this.#entry, outcome, enforcement: "performed" } as const;
    const draft = await untilRoom(() => settleAction(place, completion));
    // The verdict of an earlier process is not open here any more.
    const verdict = draft.payload.verdict ?? this.#entry ?? null;
    const entry: Draft = {
      ...draft,
      tags: [outcome, `run:${run.id}`, `call:${call.call}`],
      payload: {
        ...draft.payload,
        ...{ verdict, enforcement: "performed" },
        graph: { run_id: run.id, action_id: action.id, key: call.key },
        ...(artifact && { artifact: { digest: artifact.digest, size: artifact.size } }),
      },
    };
    this.#record(entry, outcome);
    const text = performed ? (performed.summary ?? outputSummary(performed.output)) : reason;
    await ports.display.progress(run, call, outcome === "completed" ? "completed" : "failed", text);
    if (artifact) run.note(action.id, { artifact });
    const isUnknown = outcome === "unknown";
    if (outcome !== "completed" || !performed)
      return { kind: "failed", reason, isUnknown, ...(performed && { output: performed.output, usage }) };
    const summary = performed.summary ?? outputSummary(performed.output);
    const { output, report } = performed;
    return {
      ...{ kind: "completed", output, summary },
      ...(report && { report }),
      ...(performed.usage && { usage }),
    };
  }

  /** Has the entry of the outcome recorded in one commit with the result of the attempt. */
  #record(entry: Draft, outcome: string): void {
    const { run, call, executor, planned, ports } = this.#parts;
    ports.journal.recordWith(run.key, this.#name, [entry]);
    // Without its result it is done again, so that has to be allowed.
    if (!call.action.persist && mayRepeat(executor, call.action)) ports.journal.relax(run.key, this.#name);
    const result = { status: outcome, success: outcome === "completed" };
    forwardIn(call.place, "post_action", { tool_name: planned.tool, result });
  }
}

type Decision =
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "allowed"; readonly modified?: { readonly arguments: unknown } };

const WITHHELD = "it failed; what it says about that is withheld";

/** The name under which the journal has that an attempt was allowed. */
export function allowedName(attempt: string): string {
  return `allowed/${attempt}`;
}

/** The name under which the journal has what an attempt came to, until it is summed up. */
export function performedName(attempt: string): string {
  return `performed/${attempt}`;
}

function added(one: PerformedAction["usage"], two: PerformedAction["usage"]): PerformedAction["usage"] {
  if (!one || !two) return one ?? two;
  return { tokens: (one.tokens ?? 0) + (two.tokens ?? 0), cost: (one.cost ?? 0) + (two.cost ?? 0) };
}

/** An output as it is stored. */
function textOf(output: unknown): string {
  return typeof output === "string" ? output : (JSON.stringify(output, null, 2) ?? "");
}

/** The runtime stops: the attempt comes to no end, and the next process continues the run. */
function never<Value>(): Promise<Value> {
  return new Promise(() => undefined);
}
