import { setTimeout as wait } from "node:timers/promises";
import { CODE, isObject, type JsonObject, RpcError, toolCallIn } from "@reins/acp";
import type { AgentEntry } from "@reins/agents";
import { visibleText } from "@reins/kit";
import type { Decided } from "@reins/supervisor";
import type { ActionPayload } from "../control/control-point.ts";
import { type Enforced, enforce } from "../control/enforce.ts";
import { completeSetting, placed, REFUSED, verdictMeta } from "../control/outcome.ts";
import {
  CANCELLED,
  optionsIn,
  outcomeOf,
  type PermissionOption,
  type PermissionOutcome,
} from "../control/permission-request.ts";
import type { FilePermit } from "./file-access.ts";
import type { GovernedSession, Turn } from "./governed-session.ts";
import { enforceMcpCall, type McpToolId, mcpToolOf, permitMcpCall } from "./mcp-cards.ts";
import { diffsOf, type ToolCall } from "./tool-calls.ts";
import { argumentsOf, isEmpty, isUngoverned, pathsOf, toolNameOf } from "./tool-name.ts";
import { endOpenCalls } from "./ungated.ts";
import { showUpdate } from "./updates.ts";

/** A response with its verdict. */
type Answer = PermissionOutcome & { readonly _meta?: JsonObject };

/**
 * Answers an agent that asks permission. Allowed and blocked are answered at once, by the kind of option; what people
 * are to decide is put to the clients as the approval has it, and waits for the first answer from any of them.
 */
export async function answerPermission(
  session: GovernedSession,
  params: JsonObject,
  signal: AbortSignal,
): Promise<Answer> {
  const { toolCall } = params;
  if (!isObject(toolCall) || toolCallIn(toolCall).toolCallId === undefined)
    throw new RpcError(CODE.invalidParams, "a permission request needs a toolCall with a toolCallId");
  const asked = session.toolCalls.note(toolCall, session.context.now().getTime());
  if (session.toolCalls.isFull) {
    await endOpenCalls(session);
    return CANCELLED;
  }
  const options = optionsIn(params);
  const call = await withArguments(session, asked, signal);
  const { name: tool } = toolNameOf(call, session.context.entry);
  const { turn } = session;
  const waiting = session.within(signal);
  const mcpTool = mcpToolIn(session, { call, options });
  try {
    const enforced = await (mcpTool
      ? enforceMcpCall(session, call, mcpTool, waiting)
      : enforceCall(session, { call, options, signal: waiting }));
    return await answer(session, { call, tool, options, enforced, turn, mcpTool });
  } catch (error) {
    if (!waiting.aborted) throw error;
    session.toolCalls.permit(call.id, { kind: "refused" });
    return CANCELLED;
  }
}

/** How many refusals go in front of one prompt. */
const MOST_REFUSALS = 20;

/** How much of the title of a call is recorded in place of a mode. */
const MOST_TITLE = 200;

/** How long a request without arguments waits for the update that brings them, and how often it looks. */
const ARGUMENTS_MS = 500;
const LOOK_MS = 20;

/**
 * The call with its arguments. Some agents ask before they report them, in an update that follows at once; what has none
 * after that is decided as an unknown action.
 */
async function withArguments(
  session: GovernedSession,
  asked: ToolCall,
  signal: AbortSignal,
): Promise<ToolCall> {
  const { entry, profile } = session.context;
  let call = asked;
  const isKnown = () => !isEmpty(argumentsOf(call, entry)) || pathsOf(call).length > 0;
  if (profile.argumentsCome === "with_request") return call;
  for (let left = ARGUMENTS_MS; left > 0 && !isKnown() && !signal.aborted; left -= LOOK_MS) {
    await wait(LOOK_MS);
    call = session.toolCalls.get(asked.id) ?? call;
  }
  session.toolCalls.noteAsked(call);
  return call;
}

interface Asked {
  readonly call: ToolCall;
  readonly options: readonly PermissionOption[];
}

/**
 * The MCP tool that a call is of, which the gateway performs. What changes files or runs in a terminal of the agent is
 * none, however it is named.
 */
function mcpToolIn(session: GovernedSession, { call, options }: Asked): McpToolId | undefined {
  const isNone =
    outcomeOf(options, "allow_once") === undefined || call.claims.some(({ kind }) => kind !== "read");
  return isNone ? undefined : mcpToolOf(session, call);
}

async function enforceCall(
  session: GovernedSession,
  { call, options, signal }: Asked & { readonly signal: AbortSignal },
): Promise<Enforced> {
  const payload = payloadOf(call, session.context.entry);
  if (isUngoverned(call, session.context.entry)) {
    // Like a mode that does not ask: no permission for the call covers what is done behind it.
    const mode = String(call.reported.title ?? payload.tool_name).slice(0, MOST_TITLE);
    const setting = {
      kind: "setting",
      tool: "session/set_mode",
      arguments: { mode, asks: "false" },
    } as const;
    const enforced = await enforce(session, setting, { signal });
    if (enforced.kind === "refused") return enforced;
    const { entry } = enforced.verdict;
    await completeSetting(session, { tool: setting.tool, entry, outcome: "completed" });
    if (session.turn) session.turn.mayLeaveMode = true;
  }
  const takesOnce = outcomeOf(options, "allow_once") !== undefined;
  return enforce(session, { kind: "tool_call", payload, call, takesOnce }, { signal });
}

/**
 * A call as facts are gathered from it. What else the agent says of it are claims; only where it names neither tool nor
 * arguments, the files it says it will change are what it works on, and its arguments are where the catalogue has them.
 */
export function payloadOf(call: ToolCall, entry: AgentEntry): ActionPayload {
  const { title, kind } = call.reported;
  const { name, byKind } = toolNameOf(call, entry);
  const paths = pathsOf(call);
  const args = argumentsOf(call, entry);
  const given =
    byKind && paths.length > 0 && kind !== "execute" ? { ...(isObject(args) && args), paths } : args;
  return {
    tool_name: name,
    ...(given !== undefined && { arguments: given }),
    ...(kind !== undefined && { kind }),
    ...(title !== undefined && { title }),
  };
}

async function answer(
  session: GovernedSession,
  {
    call,
    tool,
    options,
    enforced,
    turn,
    mcpTool,
  }: Asked & {
    readonly tool: string;
    readonly enforced: Enforced;
    readonly turn: Turn | undefined;
    readonly mcpTool: McpToolId | undefined;
  },
): Promise<Answer> {
  const { verdict } = enforced;
  const allowed = outcomeOf(options, "allow_once");
  if (enforced.kind === "refused" || !allowed) {
    session.toolCalls.permit(call.id, { kind: "refused" });
    const final = await placed(verdict);
    const text = `Not allowed: ${final.reason}`;
    const content = [{ type: "content", content: { type: "text", text } }];
    await showVerdict(session, call, final, { status: "failed", content });
    if (session.context.entry.quirks?.refusal === "error")
      throw new RpcError(REFUSED, text, verdictMeta(final));
    if (session.refusals.length < MOST_REFUSALS)
      session.refusals.push(`${visibleText(tool)}: ${visibleText(final.reason)}`);
    return {
      ...(outcomeOf(options, "reject_once", "reject_always") ?? CANCELLED),
      _meta: verdictMeta(final),
    };
  }
  if (mcpTool) permitMcpCall(session, call, { ...mcpTool, enforced, turn });
  else permitCall(session, call, { tool, enforced, turn });
  const shown = showVerdict(session, call, verdict, {}).catch((error: unknown) => {
    session.context.onFault(`a verdict could not be shown: ${String(error)}`);
  });
  if (session.turn) session.turn.awaits(shown);
  else await shown;
  const { reins } = verdictMeta(verdict);
  const modified = enforced.kind === "modified" && { modified_arguments: enforced.arguments };
  return { ...allowed, _meta: { reins: { ...reins, ...modified } } };
}

/** Notes that a call was allowed, and what of it Reins may read and write. */
function permitCall(
  session: GovernedSession,
  call: ToolCall,
  {
    tool,
    enforced,
    turn,
  }: {
    readonly tool: string;
    readonly enforced: Exclude<Enforced, { kind: "refused" }>;
    readonly turn: Turn | undefined;
  },
): void {
  const { entry } = enforced.verdict;
  const { name } = call.reported;
  const payload = payloadOf(call, session.context.entry);
  session.toolCalls.permit(call.id, {
    kind: "given",
    entry,
    tool,
    // An agent that acts on modified arguments does what the verdict says.
    ...(session.context.profile.modifiedCalls === "inexpressible" && {
      decided: { arguments: argumentsOf(call, session.context.entry), payload, reported: { name } },
    }),
  });
  const performed = enforced.kind === "modified" ? { ...payload, arguments: enforced.arguments } : payload;
  permitFiles(session, call, { id: call.id, call: performed, entry, turn });
}

/** Shows clients the verdict on a call. */
async function showVerdict(
  session: GovernedSession,
  { id, reported }: ToolCall,
  decided: Decided,
  changes: JsonObject,
): Promise<void> {
  const { title } = toolCallIn(reported);
  const update = {
    sessionUpdate: "tool_call_update",
    toolCallId: id,
    ...(title !== undefined && { title }),
    ...changes,
    _meta: verdictMeta(decided),
  };
  await showUpdate(session, update);
}

/**
 * An allowed call may ask Reins to read or write its files. The agent only names them here: what may be written follows
 * from the arguments that were decided.
 */
function permitFiles(
  session: GovernedSession,
  call: ToolCall,
  permit: Pick<FilePermit, "id" | "call" | "entry" | "turn">,
): void {
  for (const { path } of diffsOf(call)) session.permits.add({ access: "write", path, ...permit });
  for (const { path } of toolCallIn(call.reported).locations) {
    if (path !== undefined) session.permits.add({ access: "read", path, ...permit });
  }
}
