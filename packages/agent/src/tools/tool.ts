import type { Memory, WorkerUpdate } from "@reins/bridge";
import { z } from "zod";
import type { JsonObject } from "../acp/json-rpc.ts";
import type { Roots } from "../files/roots.ts";
import type { Clock } from "../ports/clock.ts";
import type { HostServices } from "./host-services.ts";
import type { CommandRunner } from "./run-command.ts";

/** What a tool does, in ACP's words. */
export type ToolKind = "read" | "edit" | "delete" | "search" | "execute" | "think" | "other";

/** One step of a plan. */
export interface PlanEntry {
  readonly content: string;
  readonly priority: "high" | "medium" | "low";
  readonly status: "pending" | "in_progress" | "completed";
}

/** What a tool works with. */
export interface ToolContext {
  readonly sessionId: string;
  readonly roots: Roots;
  readonly services: HostServices;
  readonly commands: CommandRunner;
  readonly memory: Memory | undefined;
  readonly clock: Pick<Clock, "now">;
  readonly newId: () => string;
  /** Aborts when the turn is cancelled. */
  readonly signal: AbortSignal;
  /** Shows clients how a worker is doing. */
  readonly onWorker: (update: WorkerUpdate) => Promise<void>;
}

/** What came of a call. */
export interface ToolOutcome {
  /** What the model is told. */
  readonly text: string;
  readonly isError?: boolean;
  /** What clients are shown instead of the text, as ACP has it. */
  readonly content?: readonly JsonObject[];
  /** The plan as it stands now, where the call changed it. */
  readonly plan?: readonly PlanEntry[];
  /** What a command's end says about the work, where it checks any. */
  readonly check?: { readonly command: string; readonly passed: boolean; readonly message: string };
}

/** What is known of a call before it is made. */
export interface Preparation {
  /** The real paths it is about. */
  readonly locations?: readonly string[];
  /** What would change, as ACP has it. */
  readonly content?: readonly JsonObject[];
}

/** A call with arguments that fit. */
export interface Call {
  readonly title: string;
  /** Finds out what the call is about without doing any of it; throws when it could not be done anyway. */
  prepare(context: ToolContext): Promise<Preparation>;
  perform(context: ToolContext): Promise<ToolOutcome>;
}

/** A tool of the agent. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** What it takes, as a JSON Schema. */
  readonly parameters: JsonObject;
  readonly kind: ToolKind;
  /** Whether it changes nothing, and so may be used while planning. */
  readonly isReadOnly: boolean;
  /** Whether it touches nothing but the agent itself, and so needs nobody's leave. */
  readonly isInner: boolean;
  /** A call with these arguments; throws when they do not fit. */
  call(given: unknown): Call;
}

/** How a tool is defined. */
export interface ToolPlan<Schema extends z.ZodType> {
  readonly name: string;
  readonly description: string;
  readonly kind: ToolKind;
  readonly isReadOnly?: boolean;
  readonly isInner?: boolean;
  readonly arguments: Schema;
  readonly title: (given: z.infer<Schema>) => string;
  readonly prepare?: (given: z.infer<Schema>, context: ToolContext) => Promise<Preparation>;
  readonly perform: (given: z.infer<Schema>, context: ToolContext) => Promise<ToolOutcome>;
}

const TITLE_LENGTH = 200;

/** Makes a tool. Its arguments are described and checked by one schema. */
export function defineTool<Schema extends z.ZodType>(plan: ToolPlan<Schema>): Tool {
  const { name, description, kind, isReadOnly = false, isInner = false } = plan;
  const { $schema: _, ...parameters } = z.toJSONSchema(plan.arguments);
  return {
    name,
    description,
    kind,
    isReadOnly,
    isInner,
    parameters,
    call(given) {
      const { data, error } = plan.arguments.safeParse(given);
      if (error) throw new ToolError("malformed", `the arguments of ${name} do not fit: ${faultsIn(error)}`);
      return {
        title: plan.title(data).slice(0, TITLE_LENGTH),
        prepare: async (context) => (await plan.prepare?.(data, context)) ?? {},
        perform: (context) => plan.perform(data, context),
      };
    },
  };
}

function faultsIn(error: z.ZodError): string {
  return error.issues
    .slice(0, 5)
    .map(({ path, message }) => (path.length === 0 ? message : `${path.join(".")}: ${message}`))
    .join("; ");
}

/** Why a call was not made, or did not work. */
export type ToolErrorCode = "malformed" | "unknown_tool" | "not_allowed" | "outside_workspace" | "failed";

/** A call that did not work, said so that a model can do better. */
export class ToolError extends Error {
  override readonly name = "ToolError";
  readonly code: ToolErrorCode;

  constructor(code: ToolErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
