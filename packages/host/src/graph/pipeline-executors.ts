import { type readReference, withReferences } from "@reins/graph";
import { isRecord } from "@reins/kit";
import { z } from "zod";
import { type ControlPoint, requestFor } from "../control/control-point.ts";
import { enforce, isForeseen } from "../control/enforce.ts";
import { complete } from "../control/outcome.ts";
import {
  type ActionCall,
  mayRepeat,
  type PerformedAction,
  type PlannedAction,
  type RunExecutor,
  UNKNOWN_OUTCOME,
} from "./executor.ts";
import { memberAt } from "./references.ts";

/** Steps that the operator put together: each is a tool with its input, decided like any other call. */
export interface PipelineSettings {
  readonly description: string;
  readonly capabilities?: readonly string[] | undefined;
  readonly steps: readonly PipelineStep[];
}

interface PipelineStep {
  /** What people, records and errors call it: its tool, if it has no name. */
  readonly name?: string | undefined;
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** The pipelines of an operator. A step may refer to the action's input by `{ "$ref": "input:<member>" }`. */
export function pipelineExecutors(
  pipelines: Readonly<Record<string, PipelineSettings>>,
  tools: readonly RunExecutor[],
): readonly RunExecutor[] {
  return Object.entries(pipelines).map(([name, { description, capabilities = [], steps }]) => ({
    ...{ name, type: "pipeline", description, ruleName: "graph/pipeline" },
    capabilities: [name, "pipeline", ...capabilities],
    hasParts: true,
    bindsWrites: steps.every(({ tool }) => {
      const executor = tools.find(({ name: known }) => known === tool);
      return executor?.isReadOnly === true || executor?.bindsWrites === true;
    }),
    input: inputOf(steps),
    check: () => undefined,
    async plan(call) {
      return {
        ...{ tool: "graph/pipeline", tools: "acp", kind: "other" },
        arguments: { pipeline: name, input: call.input ?? {} },
        perform(given, signal) {
          const allowed = AllowedPipeline.parse(given);
          if (allowed.pipeline !== name) throw new Error(`${name} was allowed as ${allowed.pipeline}`);
          return performSteps(steps, tools, { ...call, input: allowed.input }, signal);
        },
      };
    },
  }));
}

/** What the steps of a pipeline refer to of its input. */
function inputOf(steps: PipelineSettings["steps"]): Readonly<Record<string, unknown>> {
  const required = [...new Set(steps.flatMap(({ input }) => membersIn(input)))];
  return { type: "object", properties: Object.fromEntries(required.map((name) => [name, {}])), required };
}

/** The members of the input of a pipeline that a value refers to. */
function membersIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(membersIn);
  if (!isRecord(value)) return [];
  const [, member] = /^input:([^.]+)/.exec(String(value.$ref)) ?? [];
  return member === undefined ? Object.values(value).flatMap(membersIn) : [member];
}

/** The arguments that a verdict allowed, which may be others than those that were asked for. */
const AllowedPipeline = z.looseObject({ pipeline: z.string(), input: z.record(z.string(), z.unknown()) });

async function performSteps(
  steps: PipelineSettings["steps"],
  tools: readonly RunExecutor[],
  call: ActionCall,
  signal: AbortSignal,
): Promise<PerformedAction> {
  const outputs: unknown[] = [];
  for (const [index, { tool, input, name = tool }] of steps.entries()) {
    const executor = tools.find((one) => one.name === tool);
    if (!executor) throw new Error(`step ${index + 1} (${name}): there is no tool ${tool}`);
    const given = await withReferences(input, async (reference) => memberOf(call, reference));
    const own = { ...call, input: isRecord(given) ? given : {} };
    const step = {
      // A step that another one took the place of is another part.
      name: `${index + 1}-${name}`,
      title: `${call.action.title}: ${name}`,
      executor: `tool:${tool}`,
      mayRepeat: mayRepeat(executor, call.action),
    };
    const performed = await performStep(step, own, () => executor.plan(own), signal);
    outputs.push(performed.output);
    const { isError = false, refused, isUnknown = false } = performed;
    if (isError) return { output: outputs, isError, refused: refused && `${name}: ${refused}`, isUnknown };
  }
  return { output: outputs };
}

function memberOf({ input = {} }: ActionCall, reference: ReturnType<typeof readReference>): unknown {
  if (reference.kind !== "input") throw new Error("a step refers to the action's input alone");
  const value = memberAt(input, reference.path);
  if (value === undefined) throw new Error(`the input has no member ${reference.path.join(".")}`);
  return value;
}

/** A part of an action that its own verdict does not cover. */
export interface ActionStep {
  /** Its name among the parts of the action. */
  readonly name: string;
  readonly executor: string;
  /** What people see it as; by default the title of the action. */
  readonly title?: string | undefined;
  readonly mayRepeat: boolean;
  /** Whether it is refused where a person would have to agree. */
  readonly isUnasked?: boolean;
}

/**
 * Decides and performs a part of an action. One that is refused blocks the action. After a restart one that has ended is
 * not planned again, and one that waits for a person goes on waiting.
 */
export function performStep<Performed extends PerformedAction>(
  step: ActionStep,
  call: ActionCall,
  plan: () => Promise<PlannedAction<Performed>>,
  signal: AbortSignal,
): Promise<Performed | PerformedAction> {
  return call.part(step.name, async (begin) => {
    const own = { ...call, call: `${call.call}/${step.name}` };
    return decideAndPerform(step, own, await plan(), signal, () => begin(step.mayRepeat));
  });
}

async function decideAndPerform<Performed extends PerformedAction>(
  { executor, title: own, isUnasked = false }: ActionStep,
  call: ActionCall,
  planned: PlannedAction<Performed>,
  signal: AbortSignal,
  begin: () => Promise<boolean>,
): Promise<Performed | PerformedAction> {
  const { action, place, run, mayWrite } = call;
  const title = own ?? action.title;
  const point: ControlPoint = {
    kind: "graph_action",
    tools: planned.tools,
    mayWrite: executor.startsWith("tool:") ? mayWrite : undefined,
    payload: {
      tool_name: planned.tool,
      arguments: planned.arguments,
      title,
      graph: {
        ...{ run_id: run, action_id: action.id, title },
        ...{ depends_on: action.dependsOn, executor, operation: action.operation },
      },
    },
    call: { id: call.call, reported: { title, rawInput: planned.arguments } },
  };
  if (isUnasked && !(await isForeseen(place.context.harness, requestFor(place, point)))) {
    const refused = `${planned.tool} is not allowed without a question`;
    return { output: refused, isError: true, refused };
  }
  const onAsk = (approval: string) => {
    call.note({ approval });
    call.waits("permission");
  };
  const enforced = await enforce(place, point, { signal, onAsk });
  call.waits(undefined);
  if (enforced.kind === "refused") {
    call.note({ approval: enforced.verdict.approval });
    const refused = `${planned.tool} was refused: ${enforced.reason}`;
    return { output: refused, isError: true, refused };
  }
  const given = enforced.kind === "modified" ? enforced.arguments : planned.arguments;
  const end = (outcome: string) =>
    call.untilRoom(() =>
      complete(place, {
        ...{ tool: planned.tool, entry: enforced.verdict.entry, outcome },
        enforcement: "performed",
      }),
    );
  if (!(await begin())) {
    await end("unknown");
    return { output: UNKNOWN_OUTCOME, isError: true, isUnknown: true };
  }
  try {
    signal.throwIfAborted();
    const performed = await planned.perform(given, signal);
    const { isError = false, isUnknown = false } = performed;
    await end(isUnknown ? "unknown" : isError ? "failed" : "completed");
    return performed;
  } catch (error) {
    await end("failed");
    throw error;
  }
}
