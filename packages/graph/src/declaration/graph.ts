import { createHash } from "node:crypto";
import type {
  ActionDeclaration,
  Budget,
  ExecutorType,
  FailurePolicy,
  GraphCondition,
  Loop,
  ProtocolDeclaration,
  ProtocolOutput,
  ResultPolicy,
  ReturnToModel,
  SideEffect,
} from "./grammar.ts";
import type { MarkdownSection } from "./markdown.ts";
import { ProtocolError } from "./protocol-error.ts";
import { artifactAction, inputReferences, type Reference, readReference, sectionFor } from "./reference.ts";
import { validateGraph } from "./validate.ts";
import { referencesOf, VISIBLE, type Visibility } from "./visibility.ts";

/** One action as the runtime executes it, whichever way it was declared. */
export interface GraphAction {
  readonly id: string;
  readonly title: string;
  readonly description: string | undefined;
  readonly reason: string | undefined;
  readonly operation: string | undefined;
  readonly executor: {
    readonly type: ExecutorType | undefined;
    /** `auto` leaves the choice to the runtime. */
    readonly target: string;
    readonly capabilities: readonly string[];
  };
  /** The actions before it: those it names, and those it refers to. */
  readonly dependsOn: readonly string[];
  readonly when: readonly GraphCondition[];
  readonly input: Readonly<Record<string, unknown>> | undefined;
  readonly prompt: Reference | undefined;
  readonly context: readonly Reference[];
  readonly result: ResultPolicy;
  readonly failure: FailurePolicy;
  readonly loop: Loop | undefined;
  /** Why a person is asked first, in our words; `undefined` where none has to be. */
  readonly approval: string | undefined;
  /** What the model says to that person: a claim. */
  readonly gateMessage: string | undefined;
  readonly budget: Budget | undefined;
  readonly reads: readonly string[];
  /** What it may write; `undefined` where it does not say. */
  readonly writes: readonly string[] | undefined;
  readonly sideEffects: readonly SideEffect[];
  readonly idempotency: "safe" | "once" | undefined;
  /** What a cancel does to it while it runs. */
  readonly onCancel: "abort" | "finish";
  /** Who may see what it produces. What is never replayed is shown to no model, and to no later run. */
  readonly visibility: Visibility;
  /** Whether it is as durable as a run that lasts. Where not, what may be repeated is not waited for on the disk. */
  readonly persist: boolean;
  /** Whether people see it in the picture of the run, and under which label. */
  readonly isShown: boolean;
  readonly label: string;
  readonly metadata: Readonly<Record<string, unknown>> | undefined;
}

/** A section of the message that declared a graph. */
interface PromptSection {
  readonly id: string;
  readonly text: string;
  /** The SHA-256 of the text. */
  readonly hash: string;
}

/** What a run is made from, as plain data: actions that can be executed in some order. */
export interface Graph {
  readonly title: string;
  /** What people are shown at once. */
  readonly note: string | undefined;
  /** A plan is validated and shown, and runs nothing. */
  readonly isPlan: boolean;
  readonly isDurable: boolean;
  readonly actions: readonly GraphAction[];
  readonly budget: Budget;
  readonly whileWaiting: "wait" | "call_model";
  readonly replay: "full" | "compressed" | "hybrid";
  /** The most tokens that the model wants to be shown of all results together. */
  readonly maxTokens: number | undefined;
  readonly onConflict: "serialize" | "refuse";
  readonly partialResults: "return" | "withhold";
  /** The headings that the final report has to have. */
  readonly report: readonly string[] | undefined;
  /** The sections that something refers to. */
  readonly sections: readonly PromptSection[];
}

const ABORT: FailurePolicy = { on_failure: "abort", max_attempts: 1, backoff_ms: 0 };
const NOTE = "user.visible";

function resultPolicy(return_to_model: ReturnToModel): ResultPolicy {
  return { return_to_model, priority: [], store_full: true, if_truncated: "provide_ref_and_summary" };
}

const ACTIONS = new WeakMap<Graph["actions"], ReadonlyMap<string, GraphAction>>();

/** The action of an id in a graph; `undefined` for none. */
export function actionOfGraph({ actions }: Pick<Graph, "actions">, id: string): GraphAction | undefined {
  const known = ACTIONS.get(actions) ?? new Map(actions.map((action) => [action.id, action]));
  ACTIONS.set(actions, known);
  return known.get(id);
}

/** The graph of calls that came by the carrier. */
export function graphOfCalls(output: Extract<ProtocolOutput, { kind: "act" }>): Graph {
  const ids = new Set(output.calls.map(({ id }) => id));
  const actions = output.calls.map(({ id, type, name, args, depends, result, title }, index) => {
    const path = `calls.${index}`;
    const referred = inputReferences(args, `${path}.args`);
    for (const { reference, path: at } of referred)
      if (reference.kind === "section") sectionFor(new Map(), reference.id, at);
    const named = typeof depends === "string" ? [depends] : (depends ?? []);
    return {
      ...plainAction(id, title),
      executor: { type, target: name, capabilities: [] },
      input: args,
      dependsOn: unique([
        ...named,
        ...actionsIn(
          referred.map(({ reference }) => reference),
          ids,
          path,
        ),
      ]),
      result: resultPolicy(result),
    };
  });
  return validateGraph({ ...EMPTY, title: output.message ?? "", note: output.message, actions }, "calls");
}

/**
 * The graph of a declaration of the full form, with the sections of its message. The actions of a revision may also
 * depend on those that the run keeps: the ones that run or are completed.
 */
export function graphOfDeclaration(
  declaration: Extract<ProtocolDeclaration, { intent: "execute" | "plan" | "revise" }>,
  sections: readonly MarkdownSection[],
  kept: ReadonlySet<string> = new Set(),
): Graph {
  const { payload, intent } = declaration;
  const isGraph = payload.type === "action_graph";
  const declared = isGraph ? payload.actions : [];
  const gates = new Map(declaration.approval_gates?.map((gate) => [gate.before, gate]));
  const isDurable = declaration.execution?.mode === "durable" || declaration.persist === true;
  const ids = new Set([...kept, ...declared.map(({ id }) => id)]);
  const actions = declared.map((action, index) =>
    actionOf(action, {
      ...{ declaration, ids },
      gate: gates.get(action.id),
      path: `payload.actions.${index}`,
    }),
  );
  for (const before of gates.keys())
    if (!declared.some(({ id }) => id === before))
      throw new ProtocolError("graph", `there is no action ${JSON.stringify(before)}`, {
        path: "approval_gates",
      });
  const named = Map.groupBy(sections, ({ id }) => id);
  const used = new Map<string, PromptSection>();
  for (const [index, action] of actions.entries())
    for (const reference of referencesOf(action))
      if (reference.kind === "section" && !used.has(reference.id))
        used.set(reference.id, promptSection(sectionFor(named, reference.id, `payload.actions.${index}`)));
  const note = sections.filter(({ id }) => id === NOTE);
  const graph: Graph = {
    ...EMPTY,
    title: declaration.title ?? "",
    note: note.length === 1 ? note[0]?.text : undefined,
    isPlan: intent === "plan",
    isDurable: isDurable || declared.some(({ persist }) => persist === true),
    actions,
    budget: declaration.budget ?? {},
    whileWaiting: declaration.response_policy?.while_waiting ?? "wait",
    replay: declaration.response_policy?.replay ?? "hybrid",
    maxTokens: declaration.response_policy?.max_tokens,
    onConflict: declaration.conflict_resolution ?? "serialize",
    partialResults: declaration.partial_results ?? "return",
    report: payload.type === "final_report_spec" ? payload.sections : undefined,
    sections: [...used.values()],
  };
  return validateGraph(graph, "payload.actions", kept);
}

const EMPTY: Graph = {
  title: "",
  note: undefined,
  isPlan: false,
  isDurable: false,
  actions: [],
  budget: {},
  whileWaiting: "wait",
  replay: "hybrid",
  maxTokens: undefined,
  onConflict: "serialize",
  partialResults: "return",
  report: undefined,
  sections: [],
};

function plainAction(id: string, title = id): GraphAction {
  return {
    ...{
      id,
      title,
      label: title,
      isShown: true,
      description: undefined,
      reason: undefined,
      operation: undefined,
    },
    executor: { type: undefined, target: "auto", capabilities: [] },
    ...{ dependsOn: [], when: [], input: undefined, prompt: undefined, context: [] },
    ...{
      result: resultPolicy("summary"),
      failure: ABORT,
      loop: undefined,
      approval: undefined,
      gateMessage: undefined,
      budget: undefined,
    },
    ...{ reads: [], writes: undefined, sideEffects: [], idempotency: undefined, onCancel: "abort" },
    ...{ visibility: VISIBLE, persist: true, metadata: undefined },
  };
}

interface Declared {
  readonly declaration: ProtocolDeclaration;
  /** All actions that a reference may lead to. */
  readonly ids: ReadonlySet<string>;
  /** The gate before it, if there is one. */
  readonly gate: { readonly message?: string | undefined } | undefined;
  readonly path: string;
}

/** An action of the full form; what it leaves out, the envelope says. */
function actionOf(action: ActionDeclaration, { declaration, ids, gate, path }: Declared): GraphAction {
  const prompt =
    action.prompt_ref === undefined ? undefined : readReference(action.prompt_ref, `${path}.prompt_ref`);
  if (prompt && prompt.kind !== "section" && prompt.kind !== "input")
    throw new ProtocolError("reference", "a prompt is a reference md: or input:", {
      path: `${path}.prompt_ref`,
    });
  const context = action.context_refs.map((ref, index) =>
    readReference(ref, `${path}.context_refs.${index}`),
  );
  const referred = inputReferences(action.input, `${path}.input`).map(({ reference }) => reference);
  const title = action.title ?? action.id;
  return {
    ...plainAction(action.id, title),
    ...{ description: action.description, reason: action.reason, operation: action.operation },
    label: action.ui_projection?.label ?? title,
    isShown: action.ui_projection?.visible ?? true,
    executor: {
      type: action.executor?.type,
      target: action.executor?.target ?? "auto",
      capabilities: action.executor?.capabilities ?? [],
    },
    dependsOn: unique([...action.depends_on, ...actionsIn([...context, ...referred], ids, path)]),
    ...{ when: action.when, input: action.input, prompt, context, loop: action.loop },
    result: action.result_policy ?? resultPolicy(declaration.result_granularity ?? "summary"),
    failure: action.failure_policy ?? ABORT,
    approval: gate ? "a gate of the declaration" : approvalOf(action, declaration),
    gateMessage: gate?.message,
    budget: action.budget,
    reads: action.resources?.reads ?? [],
    writes: action.resources?.writes,
    sideEffects: action.side_effects ?? [],
    idempotency: action.idempotency,
    onCancel: (action.cancellation_policy ?? declaration.cancellation_policy)?.running ?? "abort",
    visibility: visibilityOf(action, declaration),
    persist: action.persist ?? declaration.persist ?? true,
    metadata: action.metadata,
  };
}

function visibilityOf(
  action: Pick<ActionDeclaration, "data_visibility" | "privacy">,
  declaration: Pick<ActionDeclaration, "data_visibility" | "privacy">,
): Visibility {
  const seenBy = action.data_visibility ?? declaration.data_visibility;
  const isReplayed = (action.privacy ?? declaration.privacy)?.replay !== "never";
  if (!seenBy && isReplayed) return VISIBLE;
  const isSeenBy = (audience: "model" | "user" | "logs" | "future_runs") =>
    seenBy === undefined || seenBy.includes(audience);
  return {
    model: isSeenBy("model") && isReplayed,
    user: isSeenBy("user"),
    logs: isSeenBy("logs"),
    futureRuns: isSeenBy("future_runs") && isReplayed,
  };
}

function approvalOf(
  action: ActionDeclaration,
  { permission_policy: all }: ProtocolDeclaration,
): string | undefined {
  const own = action.permission_policy;
  if (action.requires_approval || own?.requires_approval) return "the action requires approval";
  const asked = own?.approval_for ?? all?.approval_for ?? [];
  const effect = (action.side_effects ?? []).find((one) => asked.includes(one));
  if (effect !== undefined) return `the declaration asks before it would ${effect}`;
  return all?.requires_approval && action.requires_approval !== false
    ? "the declaration requires approval"
    : undefined;
}

/** The actions of the same run that references lead to, by their results or by what they store. */
function actionsIn(references: readonly Reference[], ids: ReadonlySet<string>, path: string): string[] {
  return references.flatMap((one) => {
    if (one.kind === "action") return [one.action];
    if (one.kind !== "artifact" || one.run !== undefined) return [];
    const action = artifactAction(one.name, ids);
    if (action !== undefined) return [action];
    throw new ProtocolError("reference", `no action of the run makes artifact:${one.name}`, { path });
  });
}

function promptSection({ id, text }: MarkdownSection): PromptSection {
  return { id, text, hash: createHash("sha256").update(text).digest("hex") };
}

function unique(ids: readonly string[]): string[] {
  return [...new Set(ids)];
}
