import { type readReference, withReferences } from "@reins/graph";
import { isRecord } from "@reins/kit";
import { z } from "zod";
import type { ControlPoint } from "../control/control-point.ts";
import { enforce } from "../control/enforce.ts";
import { complete } from "../control/outcome.ts";
import type { ActionCall, PerformedAction, PlannedAction, RunExecutor } from "./executor.ts";

/** Steps that the operator put together: each is a tool with its input, decided like any other call. */
export interface PipelineSettings {
  readonly description: string;
  readonly capabilities?: readonly string[] | undefined;
  readonly steps: readonly { readonly tool: string; readonly input: Readonly<Record<string, unknown>> }[];
}

/** The pipelines of an operator. A step may refer to the action's input by `{ "$ref": "input:<member>" }`. */
export function pipelineExecutors(
  pipelines: Readonly<Record<string, PipelineSettings>>,
  tools: readonly RunExecutor[],
): readonly RunExecutor[] {
  return Object.entries(pipelines).map(([name, { description, capabilities = [], steps }]) => ({
    ...{ name, type: "pipeline", description, ruleName: "graph/pipeline" },
    capabilities: [name, "pipeline", ...capabilities],
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

/** The arguments that a verdict allowed, which may be others than those that were asked for. */
const AllowedPipeline = z.looseObject({ pipeline: z.string(), input: z.record(z.string(), z.unknown()) });

async function performSteps(
  steps: PipelineSettings["steps"],
  tools: readonly RunExecutor[],
  call: ActionCall,
  signal: AbortSignal,
): Promise<PerformedAction> {
  const outputs: unknown[] = [];
  for (const [index, { tool, input }] of steps.entries()) {
    const executor = tools.find(({ name }) => name === tool);
    if (!executor) throw new Error(`step ${index + 1}: there is no tool ${tool}`);
    const given = await withReferences(input, async (reference) => memberOf(call, reference));
    const own = { ...call, input: isRecord(given) ? given : {}, call: `${call.call}/${index + 1}` };
    const performed = await performStep(`tool:${tool}`, own, await executor.plan(own), signal);
    outputs.push(performed.output);
    const { isError = false, refused } = performed;
    if (isError) return { output: outputs, isError, refused };
  }
  return { output: outputs };
}

function memberOf({ input = {} }: ActionCall, reference: ReturnType<typeof readReference>): unknown {
  if (reference.kind !== "input") throw new Error("a step refers to the action's input alone");
  const [name = ""] = reference.path;
  if (!Object.hasOwn(input, name)) throw new Error(`the input has no member ${name}`);
  return input[name];
}

/** Decides and performs a part of an action that its own verdict does not cover. One that is refused blocks the action. */
export async function performStep(
  executor: string,
  call: ActionCall,
  planned: PlannedAction,
  signal: AbortSignal,
): Promise<PerformedAction> {
  const { action, place, run } = call;
  const point: ControlPoint = {
    kind: "graph_action",
    tools: planned.tools,
    payload: {
      tool_name: planned.tool,
      arguments: planned.arguments,
      title: action.title,
      graph: {
        ...{ run_id: run, action_id: action.id, title: action.title },
        ...{ depends_on: action.dependsOn, executor, operation: action.operation },
      },
    },
    call: { id: call.call, reported: { title: action.title, rawInput: planned.arguments } },
  };
  const onAsk = (approval: string) => {
    call.note({ approval });
    call.waits("permission");
  };
  const enforced = await enforce(place, point, { signal, onAsk });
  call.waits(undefined);
  if (enforced.kind === "refused") {
    const refused = `${planned.tool} was refused: ${enforced.reason}`;
    return { output: refused, isError: true, refused };
  }
  const given = enforced.kind === "modified" ? enforced.arguments : planned.arguments;
  const end = (outcome: string) =>
    complete(place, {
      ...{ tool: planned.tool, entry: enforced.verdict.entry, outcome },
      enforcement: "performed",
    });
  try {
    const performed = await planned.perform(given, signal);
    await end(performed.isError ? "failed" : "completed");
    return performed;
  } catch (error) {
    await end("failed");
    throw error;
  }
}
