import { setImmediate } from "node:timers/promises";
import { CODE, type JsonObject, type Peer, RpcError, readResult, reinsMeta } from "@reins/acp";
import type { HostTools, SkillWarning } from "@reins/bridge";
import { type KeyedQueue, raceAbort } from "@reins/kit";
import type { AgentDependencies } from "../agent-dependencies.ts";
import type { UserPart } from "../history/entry.ts";
import { ModelError } from "../models/model.ts";
import { totalOf } from "../models/tokens.ts";
import { SessionSkills } from "../skills/session-skills.ts";
import { allTools, loadSkill } from "../tools/all-tools.ts";
import { askPerson } from "../tools/ask-person.ts";
import type { HostServices, ProtocolService } from "../tools/host-services.ts";
import { clientTools, lentTools } from "../tools/host-tools.ts";
import type { Tool } from "../tools/tool.ts";
import { DeferredTools, SEARCH_TOOL } from "../tools/tool-search.ts";
import { systemPrompt } from "../turn/prompt-text.ts";
import { runTurn, summaryOf } from "../turn/run-turn.ts";
import { Turn, type TurnSetting } from "../turn/turn.ts";
import type { AskPermission, Permission, TurnEnd } from "../turn/turn-event.ts";
import { activeIn, showSkillWarnings } from "../turn/use-skills.ts";
import { isThoughtLevel } from "./config-options.ts";
import type { Session } from "./session.ts";
import { type ClientCapabilities, pendingCall, updateFor } from "./updates.ts";

/** What the turns of all sessions share. */
export interface TurnContext {
  readonly dependencies: AgentDependencies;
  readonly rpc: Peer;
  readonly queue: KeyedQueue;
  /** The tools that the hosts of sessions lend. */
  readonly hostTools: HostTools | undefined;
  readonly capabilities: () => ClientCapabilities;
}

/** The dependencies of a turn, with the session's current settings. */
export async function settingFor(
  context: TurnContext,
  session: Session,
  signal: AbortSignal,
): Promise<TurnSetting> {
  const { dependencies, rpc, queue, capabilities } = context;
  const { id: sessionId, cwd, additionalDirectories, mode, model, thoughtLevel } = session.header;
  const { control, services, memory, commands, limits, clock, random, newId, instructions, onFault } =
    dependencies;
  const { skills } = session;
  const opened = dependencies.models.open(model);
  const tools = mode === "protocol" ? [] : await offeredTools(context, session, signal);
  return {
    sessionId,
    skills,
    faults: session.skillFaults,
    model: opened,
    fallbacks: (dependencies.models.fallbacks ?? [])
      .map((id) => dependencies.models.open(id))
      .filter((other) => other !== opened),
    thoughtLevel: isThoughtLevel(thoughtLevel) ? thoughtLevel : "default",
    mode,
    system: systemPrompt({
      ...{ cwd, additionalDirectories, mode, skills: mode === "protocol" ? undefined : skills?.cards },
      instructions: instructions(sessionId),
    }),
    tools,
    deferred: DeferredTools.of(tools, {
      settings: dependencies.toolSearch,
      index: session.toolIndex,
      entries: session.entries,
      model: opened.info,
      maySearch: await dependencies.mayUse(SEARCH_TOOL, sessionId),
      scope: (all) => skills?.scope(all) ?? all,
    }),
    protocol: mode === "protocol" ? protocolOf(services) : undefined,
    toolContext: {
      sessionId,
      roots: session.roots,
      services,
      commands,
      background: session.commands,
      memory,
      clock,
      newId,
    },
    control,
    askPermission: permissionAsker(rpc, sessionId),
    queue,
    takeSteering: () => session.steering.take(),
    limits,
    clock,
    random,
    newId,
    entries: session.entries,
    keep: (...entries) => session.keep(...entries),
    async emit(event) {
      const update = updateFor(event, capabilities());
      if (update) await rpc.notify("session/update", { sessionId, update });
    },
    onFault,
  };
}

/** The runtime of action graphs; a session in this mode is not prompted without one. */
function protocolOf({ protocol }: HostServices): ProtocolService {
  if (protocol) return protocol;
  throw new RpcError(CODE.invalidRequest, "this host runs no action graphs; set another mode");
}

/** The tools that the session's mode and policy permit. */
async function offeredTools(
  { dependencies: { services, memory, mayUse }, hostTools, capabilities }: TurnContext,
  session: Session,
  signal: AbortSignal,
): Promise<readonly Tool[]> {
  const { id, header, servers, skills } = session;
  const [{ tools: mcpTools }, lent] = await raceAbort(
    Promise.all([servers.offered(), hostTools?.hostToolList(id, signal)]),
    signal,
  );
  session.hostWarnings = lent?.warnings ?? [];
  // A worker answers to the session that started it.
  const mayAsk = capabilities().questions && services.workerOf?.(id) === undefined;
  const isThere = (tool: Tool) => (tool !== loadSkill || skills?.hasSkills) && (tool !== askPerson || mayAsk);
  const native = allTools(services, memory).filter(isThere);
  const own = [...native, ...mcpTools, ...clientTools(services, id)];
  const borrowed = hostTools && lent ? lentTools(hostTools, lent.tools, own) : [];
  const tools = [...own, ...borrowed].filter(({ isReadOnly }) => header.mode !== "plan" || isReadOnly);
  const offered: Tool[] = [];
  for (let from = 0; from < tools.length; from += CHECKED_AT_ONCE) {
    if (from > 0) await setImmediate();
    signal.throwIfAborted();
    const some = tools.slice(from, from + CHECKED_AT_ONCE);
    const allowed = await Promise.all(some.map(({ name, decidedAs }) => mayUse(decidedAs ?? name, id)));
    offered.push(...some.filter((_, index) => allowed[index]));
  }
  return offered;
}

/** How many tools are checked before other work has its turn. */
const CHECKED_AT_ONCE = 200;

/** Runs one turn of a session and returns the result of its prompt. */
export async function promptSession(
  context: TurnContext,
  session: Session,
  prompt: readonly UserPart[],
  signal: AbortSignal,
): Promise<JsonObject> {
  let warnings: readonly SkillWarning[] = [];
  const setting = await skillsOf(context, session)
    .refresh(signal, activeIn(session.entries))
    .then((found) => {
      warnings = found;
      return settingFor(context, session, signal);
    })
    .catch((error: unknown) => {
      if (signal.aborted) return undefined;
      throw error;
    });
  if (!setting) return { stopReason: "cancelled" };
  const turn = new Turn(setting, prompt, signal);
  await showSkillWarnings(turn, warnings);
  await setTitle(context, session, turn);
  await reportToolFaults(session, turn);
  const end = await runTurn(turn);
  await recordEnd(turn, end);
  if (end.kind === "failed") throw promptError(end.error);
  return { stopReason: end.reason, usage: usageOf(turn) };
}

/** The skills of a session, opened with its first turn. */
function skillsOf(context: TurnContext, session: Session): SessionSkills {
  const { services } = context.dependencies;
  session.skills ??= new SessionSkills({
    sessionId: session.id,
    service: services.skills,
    bridge: context.capabilities().bridge ? services.bridge : undefined,
  });
  return session.skills;
}

/** Titles a session after its first prompt. */
async function setTitle({ rpc }: TurnContext, session: Session, { words }: Turn): Promise<void> {
  const title = session.titleFrom(words);
  if (title === undefined) return;
  session.setTitle(title);
  const update = { sessionUpdate: "session_info_update", title, updatedAt: session.header.updatedAt };
  await rpc.notify("session/update", { sessionId: session.id, update });
}

/** Reports, once, why tools of MCP servers and of the host could not be used. */
async function reportToolFaults(
  { servers, faulty, hostWarnings: warnings }: Session,
  { setting }: Turn,
): Promise<void> {
  const { faults } = await servers.offered();
  const all = [
    ...faults.map(({ server, reason }) => ({ key: server, source: server, reason })),
    ...(warnings.length > 0 ? [{ key: "host tools", source: "the host", reason: warnings.join("; ") }] : []),
  ];
  for (const { key, source, reason } of all) {
    if (faulty.has(key)) continue;
    faulty.add(key);
    const title = `The tools of ${source} cannot${key === source ? "" : " all"} be used`;
    await setting.emit({ type: "notice", severity: "warning", title, description: reason });
  }
}

/** Records and reports the end of a turn. A failed turn without an answer is withdrawn. */
async function recordEnd(turn: Turn, end: TurnEnd): Promise<void> {
  const { keep, entries, sessionId, clock } = turn.setting;
  const isAnswered = entries.some((entry) => entry.turn === turn.id && entry.kind === "assistant");
  if (end.kind === "failed" && !isAnswered) await keep({ kind: "withdrawn", ...turn.mark });
  const stop = end.kind === "failed" ? "error" : end.reason;
  await keep({ kind: "end", ...turn.mark, stop, usage: turn.usage });
  if (end.kind === "failed") {
    const { message } = end.error;
    const { code, isRetryable } =
      end.error instanceof ModelError ? end.error : { code: "internal", isRetryable: false };
    turn.report("error", { session_id: sessionId, code, message, retryable: isRetryable });
    turn.setStatus("failed", { error: message });
    return;
  }
  const result_summary = summaryOf(turn);
  if (end.reason === "cancelled" || end.reason === "refusal")
    return turn.setStatus("cancelled", { result_summary });
  turn.setStatus("completed", { result_summary });
  turn.report("success", {
    session_id: sessionId,
    action_type: "turn",
    action_summary: result_summary,
    duration_ms: clock.now().getTime() - Date.parse(turn.startedAt),
  });
}

function usageOf({ usage }: Turn): JsonObject {
  return { totalTokens: totalOf(usage), ...usage };
}

/** Maps the error of a model to one of ACP. The session stays usable. */
function promptError(error: Error): RpcError {
  if (!(error instanceof ModelError)) return RpcError.of(error);
  const { code, status, isRetryable } = error;
  const needsKey = code === "unauthorized" || code === "not_configured";
  return new RpcError(needsKey ? CODE.authRequired : CODE.internal, error.message, {
    reins: { code, retryable: isRetryable, ...(status !== undefined && { status }) },
  });
}

const OPTIONS = [
  { optionId: "allow_once", name: "Allow once", kind: "allow_once" },
  { optionId: "allow_always", name: "Always allow this", kind: "allow_always" },
  { optionId: "reject_once", name: "Do not allow", kind: "reject_once" },
];

/** Asks by `session/request_permission`. The host remembers "always"; this agent asks every time. */
function permissionAsker(rpc: Peer, sessionId: string): AskPermission {
  return async (call, signal) => {
    const params = { sessionId, toolCall: pendingCall(call), options: OPTIONS };
    signal.throwIfAborted();
    const request = rpc.request("session/request_permission", params, { signal });
    return permissionIn(await raceAbort(request, signal));
  };
}

function permissionIn(answer: unknown): Permission {
  const { outcome: kind, optionId } = readResult("session/request_permission", answer).outcome;
  const { reason, modified_arguments } = reinsMeta(answer);
  if (kind === "selected" && (optionId === "allow_once" || optionId === "allow_always"))
    return { kind: "given", ...(modified_arguments && { modified: modified_arguments }) };
  if (reason !== undefined && reason !== "") return { kind: "refused", reason };
  return { kind: "refused", reason: kind === "selected" ? "a person denied it" : "no permission was given" };
}
