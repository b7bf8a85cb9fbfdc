import type { JsonObject } from "@reins/acp";
import {
  type FoundTools,
  type Memory,
  type SearchStrategy,
  searchTools,
  ToolIndex,
  toolTokens,
  type WorkerUpdate,
} from "@reins/bridge";
import type { Clock } from "@reins/kit";
import { z } from "zod";
import type { Roots } from "../files/roots.ts";
import type { MediaPart } from "../history/entry.ts";
import type { WantedOfSkill } from "../skills/session-skills.ts";
import type { TurnSetting } from "../turn/turn.ts";
import type { BackgroundCommands } from "./background-commands.ts";
import type { HostServices, SnapshotTurn } from "./host-services.ts";
import type { CommandRunner } from "./run-command.ts";
import { askHostOf, type ToolSearchSettings, type ToolSearchUpdate, type ToolState } from "./tool-search.ts";

/** The kind of a tool, in ACP's words. */
export type ToolKind = "read" | "edit" | "delete" | "search" | "execute" | "fetch" | "think" | "other";

/** One step of a plan. */
export interface PlanEntry {
  readonly content: string;
  readonly priority: "high" | "medium" | "low";
  readonly status: "pending" | "in_progress" | "completed";
}

/** What a tool call works with. */
export interface ToolContext {
  readonly sessionId: string;
  readonly roots: Roots;
  readonly services: HostServices;
  readonly commands: CommandRunner;
  /** The commands of the session that run beside its turns; absent where there is no session to end them. */
  readonly background?: BackgroundCommands | undefined;
  readonly memory: Memory | undefined;
  readonly clock: Clock;
  readonly newId: () => string;
  /** Aborts when the turn is cancelled. */
  readonly signal: AbortSignal;
  /** The turn that it belongs to; absent outside of one. */
  readonly turn?: SnapshotTurn | undefined;
  /** Loads a skill for the model; absent where there are none. */
  readonly loadSkill?: ((name: string, wanted: WantedOfSkill) => Promise<string>) | undefined;
  /** The id of the call in ACP. */
  readonly toolCallId: string;
  /** Reports the progress of a worker to clients. */
  readonly onWorker: (update: WorkerUpdate) => Promise<void>;
  /** Shows clients what a running command has written last. */
  readonly onOutput: (text: string) => Promise<void>;
  /** Reports a search for tools to clients. */
  readonly onSearch: (update: ToolSearchUpdate) => Promise<void>;
}

/** The outcome of a tool call. */
export interface ToolOutcome {
  /** The text for the model. */
  readonly text: string;
  readonly isError?: boolean;
  /** Images and documents for the model, beside the text. */
  readonly media?: readonly MediaPart[];
  /** The content for clients instead of the text, in ACP's form. */
  readonly content?: readonly JsonObject[];
  /** The plan after the call, where the call changed it. */
  readonly plan?: readonly PlanEntry[];
  /** The result of a command that checks the work. */
  readonly check?: { readonly command: string; readonly passed: boolean; readonly message: string };
}

/** What is known of a call before it is performed. */
export interface Preparation {
  /** The real paths it concerns. */
  readonly locations?: readonly string[];
  /** The change it would make, in ACP's form. */
  readonly content?: readonly JsonObject[];
}

/** A call with valid arguments. */
export interface Call {
  readonly title: string;
  /** Describes the call without any effect; throws when it could not succeed. */
  prepare(context: ToolContext): Promise<Preparation>;
  perform(context: ToolContext): Promise<ToolOutcome>;
}

/** A tool of the agent. */
export interface Tool {
  readonly name: string;
  /** What offers it: an MCP server, the host or the client; absent for the agent's own tools. */
  readonly source?: string | undefined;
  /** Its name at its source, where it differs. */
  readonly label?: string | undefined;
  /** The name by which rules know it, where that is another. */
  readonly decidedAs?: string;
  readonly description: string;
  /** A JSON Schema. */
  readonly parameters: JsonObject;
  readonly kind: ToolKind;
  /** Whether it has no effect, and so is available in plan mode. */
  readonly isReadOnly: boolean;
  /** Whether it affects only the agent itself, and so needs no permission. */
  readonly isInner: boolean;
  /** Whether calls of it that a model makes at once may run at the same time; one after the other if absent. */
  readonly isConcurrent?: boolean;
  /** Whether the runtime itself needs it, so that no skill takes it away. */
  readonly isRuntime?: boolean;
  /** The names by which skills can allow it together with others, such as that of its MCP server. */
  readonly namespaces?: readonly string[];
  /** Throws when the arguments are invalid. */
  call(given: unknown): Call;
}

/** The definition of a tool. */
export interface ToolPlan<Schema extends z.ZodType> {
  readonly name: string;
  readonly description: string;
  readonly kind: ToolKind;
  readonly isReadOnly?: boolean;
  readonly isInner?: boolean;
  readonly isRuntime?: boolean;
  readonly isConcurrent?: boolean;
  readonly arguments: Schema;
  readonly title: (given: z.infer<Schema>) => string;
  readonly prepare?: (given: z.infer<Schema>, context: ToolContext) => Promise<Preparation>;
  readonly perform: (given: z.infer<Schema>, context: ToolContext) => Promise<ToolOutcome>;
}

const TITLE_LENGTH = 200;

/** Defines a tool. One schema describes and validates its arguments. */
export function defineTool<Schema extends z.ZodType>(plan: ToolPlan<Schema>): Tool {
  const { name, description, kind, isReadOnly = false, isInner = false, isRuntime = isInner } = plan;
  const { isConcurrent = false } = plan;
  const { $schema: _, ...parameters } = z.toJSONSchema(plan.arguments);
  return {
    name,
    description,
    kind,
    isReadOnly,
    isInner,
    isRuntime,
    isConcurrent,
    parameters,
    call(given) {
      const { data, error } = plan.arguments.safeParse(given);
      if (error) throw new ToolError("malformed", `the arguments of ${name} are invalid: ${faultsIn(error)}`);
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

export type ToolErrorCode = "malformed" | "unknown_tool" | "not_allowed" | "outside_workspace" | "failed";

/** A failed tool call. The message is written for the model. */
export class ToolError extends Error {
  override readonly name = "ToolError";
  readonly code: ToolErrorCode;

  constructor(code: ToolErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** A tool that a session may use, as people see it. */
interface ToolDescription {
  readonly name: string;
  readonly source?: string | undefined;
  readonly label?: string | undefined;
  readonly description: string;
  readonly state: ToolState;
  /** About how many it takes in a prompt. */
  readonly tokens: number;
}

/** The tools of a session, as people see them. */
export interface ToolView {
  readonly tools: readonly ToolDescription[];
  /** Searches all of them and promotes none. */
  search(
    query: string,
    strategy: SearchStrategy | undefined,
    signal: AbortSignal,
  ): Promise<FoundTools & { readonly strategy: SearchStrategy }>;
}

/** Describes the tools that a session may use now. */
export function toolView(
  {
    tools,
    deferred,
    toolContext,
    sessionId,
  }: Pick<TurnSetting, "tools" | "deferred" | "toolContext" | "sessionId">,
  settings: ToolSearchSettings,
): ToolView {
  const states = deferred
    ? [...deferred.states()]
    : tools.map((tool) => ({ tool, state: "loaded" as const }));
  return {
    tools: states.map(({ tool, state }) => {
      const { name, source, label, description } = tool;
      return { name, source, label, description, state, tokens: toolTokens(tool) };
    }),
    async search(query, strategy = settings.strategy, signal) {
      const index = new ToolIndex(states.map(({ tool }) => tool));
      const askHost = askHostOf(toolContext.services, sessionId);
      const found = await searchTools(index, query, { ...settings, strategy, askHost }, signal);
      return { ...found, strategy };
    },
  };
}
