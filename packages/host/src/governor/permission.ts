import { setTimeout as wait } from "node:timers/promises";
import { CODE, type JsonObject, membersOf, RpcError } from "@reins/acp";
import { visibleText } from "@reins/kit";
import type { Decided } from "@reins/supervisor";
import type { AgentEntry } from "../agents/agent-entry.ts";
import { offerApproval } from "../control/ask-clients.ts";
import { toolCallDraft } from "../control/drafts.ts";
import {
  CANCELLED,
  optionsIn,
  outcomeOf,
  type PermissionOption,
  type PermissionOutcome,
} from "../control/permission-options.ts";
import { placed, REFUSED, verdictMeta } from "../control/verdict-wire.ts";
import { agentOf, type GovernorContext, recordIn, requestContextIn, subjectIn } from "./context.ts";
import type { GovernedSession } from "./governed-session.ts";
import { showUpdate } from "./shown-updates.ts";
import { diffsOf, isEmpty, type ToolCall } from "./tool-calls.ts";
import { argumentsOf, isUngoverned, namesOf, toolNameOf } from "./tool-name.ts";
import { decideAs } from "./wishes.ts";

/** An answer with what stands behind it. */
type Answer = PermissionOutcome & { readonly _meta?: JsonObject };

/**
 * Answers an agent that asks permission. Allowed and blocked are answered at once, by the kind of option; what people
 * are to decide is put to the clients as the approval has it, and waits for whoever answers it first, wherever.
 */
export async function answerPermission(
  context: GovernorContext,
  session: GovernedSession,
  params: JsonObject,
  signal: AbortSignal,
): Promise<Answer> {
  const toolCall = membersOf(params.toolCall);
  if (typeof toolCall.toolCallId !== "string")
    throw new RpcError(CODE.invalidParams, "a permission request needs a toolCall with a toolCallId");
  const asked = session.toolCalls.tell(toolCall, context.now().getTime());
  const options = optionsIn(params);
  const call = await withArguments(context, session, asked, signal);
  const { name: tool } = toolNameOf(call, context.entry);
  if (namesOf(call, context.entry).some((name) => session.mcpTools.has(name)))
    return passOn(session, call, options);
  const waiting = session.turn ? AbortSignal.any([signal, session.turn.signal]) : signal;
  try {
    const decided = await decide(context, session, { call, tool, options, signal: waiting });
    return await answer(context, session, { call, tool, options, decided });
  } catch (error) {
    if (!waiting.aborted) throw error;
    session.toolCalls.permit(call.id, { kind: "refused" });
    return CANCELLED;
  }
}

/** How many refusals a model is told of at a time. */
const MOST_REFUSALS = 20;

/** How much of the title of a call is recorded in place of a mode. */
const MOST_TITLE = 200;

/** How long a request without arguments waits for the update that brings them, and how often it looks. */
const ARGUMENTS_MS = 500;
const LOOK_MS = 20;

/**
 * The call with its arguments. Some agents ask before they tell them, in an update that follows at once; what has none
 * after that is decided as what nobody knows.
 */
async function withArguments(
  { entry, isOurs }: GovernorContext,
  session: GovernedSession,
  asked: ToolCall,
  signal: AbortSignal,
): Promise<ToolCall> {
  let call = asked;
  const isKnown = () => !isEmpty(argumentsOf(call, entry)) || pathsOf(call).length > 0;
  for (let left = ARGUMENTS_MS; left > 0 && !isOurs && !isKnown() && !signal.aborted; left -= LOOK_MS) {
    await wait(LOOK_MS);
    call = session.toolCalls.get(asked.id) ?? call;
  }
  return call;
}

interface Asked {
  readonly call: ToolCall;
  readonly tool: string;
  readonly options: readonly PermissionOption[];
}

/** What the harness carries out itself is decided when it does so. */
function passOn(session: GovernedSession, { id }: ToolCall, options: readonly PermissionOption[]): Answer {
  session.toolCalls.permit(id, { kind: "elsewhere" });
  return outcomeOf(options, "allow_once") ?? CANCELLED;
}

async function decide(
  context: GovernorContext,
  session: GovernedSession,
  { call, tool, signal }: Asked & { readonly signal: AbortSignal },
): Promise<Decided> {
  if (isUngoverned(call, context.entry)) {
    // Like a mode that does not ask: no yes to the call covers what is done behind it.
    const args = { mode: String(call.told.title ?? tool).slice(0, MOST_TITLE), asks: "false" };
    const wish = { event_type: "pre_action", tool: "session/set_mode", args, signal };
    const decided = await decideAs(context, session, wish);
    if (decided.verdict !== "allowed") return decided;
  }
  const subject = subjectIn(context, session, context.enforcementOf?.(tool) ?? context.enforcement);
  return context.judge.decide({
    event: {
      event_type: "pre_action",
      session_id: session.id,
      agent_id: agentOf(context.entry, session),
      depth: session.depth,
      payload: payloadOf(call, context.entry),
    },
    subject,
    requestContext: requestContextIn(session, session.workspace),
    waiting: { signal },
    offer: offerApproval(context, session, call.id),
  });
}

/**
 * A call as facts are gathered from it. What else the agent says of it are claims; only where it names neither tool nor
 * arguments, the files it says it will change are what it works on, and its arguments are where the catalogue has them.
 */
export function payloadOf(call: ToolCall, entry: AgentEntry): JsonObject {
  const { title, kind } = call.told;
  const { name, byKind } = toolNameOf(call, entry);
  const paths = pathsOf(call);
  const told = argumentsOf(call, entry);
  const given = byKind && paths.length > 0 && kind !== "execute" ? { ...membersOf(told), paths } : told;
  return {
    tool_name: name,
    ...(given !== undefined && { arguments: given }),
    ...(kind !== undefined && { kind }),
    ...(title !== undefined && { title }),
  };
}

/** The files that an agent says a call is about. */
function pathsOf(call: ToolCall): readonly string[] {
  const { locations } = call.told;
  const located = (Array.isArray(locations) ? locations : []).map((one) => membersOf(one).path);
  const all = [...diffsOf(call).map(({ path }) => path), ...located];
  return [...new Set(all.filter((path) => typeof path === "string"))];
}

async function answer(
  context: GovernorContext,
  session: GovernedSession,
  { call, tool, options, decided }: Asked & { readonly decided: Decided },
): Promise<Answer> {
  const passes = decided.verdict === "allowed" || (decided.verdict === "modify" && context.isOurs);
  const allowed = passes ? outcomeOf(options, "allow_once") : undefined;
  const subject = subjectIn(context, session, context.enforcement);
  if (!allowed) {
    session.toolCalls.permit(call.id, { kind: "refused" });
    const final = await placed(decided.verdict === "blocked" ? decided : inexpressible(decided));
    const text = `Not allowed: ${final.reason}`;
    const content = [{ type: "content", content: { type: "text", text } }];
    await tellVerdict(context, session, call, final, { status: "failed", content });
    if (context.entry.quirks?.refusal === "error") throw new RpcError(REFUSED, text, verdictMeta(final));
    if (session.refusals.length < MOST_REFUSALS)
      session.refusals.push(`${visibleText(tool)}: ${visibleText(final.reason)}`);
    return {
      ...(outcomeOf(options, "reject_once", "reject_always") ?? CANCELLED),
      _meta: verdictMeta(final),
    };
  }
  const { entry } = decided;
  if (entry !== undefined) session.turn?.entries.push(entry);
  const { rawInput, name } = call.told;
  const payload = payloadOf(call, context.entry);
  session.toolCalls.permit(call.id, {
    kind: "given",
    entry,
    tool,
    // Our own agent does what a verdict made of a call.
    ...(!context.isOurs && { decided: { arguments: rawInput, payload, told: { name } } }),
  });
  permitFiles(session, call, payload, entry);
  const done = { ...call, told: { ...call.told, ...modifiedInput(decided) } };
  recordIn(context, session, [toolCallDraft(subject, done, { tool, verdict: entry })]);
  const told = tellVerdict(context, session, call, decided, {}).catch((error: unknown) => {
    context.onFault(`a verdict could not be shown: ${String(error)}`);
  });
  if (session.turn) session.turn.awaits(told);
  else await told;
  const { modified_arguments } = decided;
  const { reins } = verdictMeta(decided);
  return {
    ...allowed,
    _meta: { reins: { ...reins, ...(decided.verdict === "modify" && { modified_arguments }) } },
  };
}

/** What a call is carried out with, where a rule changed that. */
function modifiedInput({ verdict, modified_arguments }: Decided): JsonObject {
  return verdict === "modify" ? { rawInput: modified_arguments } : {};
}

/** What an agent's options cannot say is blocked, with what would pass. */
function inexpressible(decided: Decided): Decided {
  const why =
    decided.verdict === "modify"
      ? `it would pass with ${JSON.stringify(decided.modified_arguments)}, which the agent cannot be told`
      : "the agent takes no permission for once";
  return { ...decided, verdict: "blocked", reason: `${decided.reason}; ${why}` };
}

/** The people in front of a session see what was decided about a call, and why. */
async function tellVerdict(
  context: GovernorContext,
  session: GovernedSession,
  { id, told }: ToolCall,
  decided: Decided,
  changes: JsonObject,
): Promise<void> {
  const update = {
    sessionUpdate: "tool_call_update",
    toolCallId: id,
    ...(typeof told.title === "string" && { title: told.title }),
    ...changes,
    _meta: verdictMeta(decided),
  };
  await showUpdate(context, session, update);
}

/** A call that was let through may ask the harness to read or write its files. */
function permitFiles(
  session: GovernedSession,
  call: ToolCall,
  payload: JsonObject,
  entry: string | undefined,
): void {
  for (const { path, newText } of diffsOf(call))
    session.permits.add({ access: "write", path, content: newText, call: payload, entry });
  const { locations } = call.told;
  for (const location of Array.isArray(locations) ? locations : []) {
    const { path } = membersOf(location);
    if (typeof path === "string") session.permits.add({ access: "read", path, call: payload, entry });
  }
}
