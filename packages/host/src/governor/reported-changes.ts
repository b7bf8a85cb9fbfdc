import { isObject, type JsonObject, membersOf, readUpdate } from "@reins/acp";
import { typedOption } from "@reins/agents";
import { errorMessage } from "@reins/kit";
import type { Decided } from "@reins/supervisor";
import { enforce } from "../control/enforce.ts";
import { placed } from "../control/outcome.ts";
import { asksIn } from "./client-requests.ts";
import type { GovernedSession } from "./governed-session.ts";
import { endTurn, ungatedMeta, withMeta } from "./ungated.ts";
import { showUpdate } from "./updates.ts";

/** The names of a change of mode and of an option, in rules and records. */
const SET_MODE = "session/set_mode";
const SET_OPTION = "session/set_config_option";
/** How long an agent may take to set something back. */
const RESTORE_MS = 10_000;

/** A setting that keeps an agent asking and that the agent has changed by itself. */
interface LeftSetting {
  /** What sets it, in rules and records, and what it was set to. */
  readonly tool: typeof SET_MODE | typeof SET_OPTION;
  readonly rawInput: JsonObject;
  readonly reason: string;
  /** What sets it back. */
  readonly restoring: JsonObject;
  /** Notes that it was set back; what clients are shown of that. */
  readonly restored: (result: unknown) => JsonObject | undefined;
}

/**
 * Notes the settings that an agent reports. They are claims. A mode that the agent does not ask in, or an option that the
 * launch profile holds, is decided after the fact, and Reins sets it back.
 */
export function noteSettings(session: GovernedSession, update: JsonObject): JsonObject | Promise<JsonObject> {
  const mode = modeIn(update);
  const leftMode = mode === undefined ? undefined : leftModeIn(session, mode);
  const left = [...(leftMode ? [leftMode] : []), ...leftOptionsIn(session, update.configOptions)];
  return left.length === 0 ? update : restoreSettings(session, left, update);
}

async function restoreSettings(
  session: GovernedSession,
  left: readonly LeftSetting[],
  update: JsonObject,
): Promise<JsonObject> {
  let shown = update;
  for (const one of left) shown = withMeta(shown, ungatedMeta(await restoreSetting(session, one)));
  return shown;
}

/** The mode that an agent reports: by an update of its own, or as one of its options. */
function modeIn(update: JsonObject): string | undefined {
  if (update.sessionUpdate === "current_mode_update")
    return readUpdate("current_mode_update", update).currentModeId;
  const [, mode] = optionsIn(update.configOptions).find(([id]) => id === "mode") ?? [];
  return typeof mode === "string" ? mode : undefined;
}

/** The options that an agent reports, with their values. */
function optionsIn(configOptions: unknown): readonly (readonly [string, unknown])[] {
  if (!Array.isArray(configOptions)) return [];
  return configOptions.filter(isObject).map(({ id, currentValue }) => [String(id), currentValue] as const);
}

function leftModeIn(session: GovernedSession, mode: string): LeftSetting | undefined {
  const { entry, launch } = session.context;
  const { pinnedMode, pendingMode, turn, agentSessionId: sessionId } = session;
  session.claimedMode = mode;
  if (turn?.mayLeaveMode === true) session.allowedMode = mode;
  const isSet = [pinnedMode, pendingMode, session.allowedMode, launch.mode].includes(mode);
  if (pinnedMode === undefined || isSet || asksIn(entry, mode)) return undefined;
  return {
    tool: SET_MODE,
    rawInput: { mode, asks: "false" },
    reason: `the agent left the mode in which it asks, for ${quoted(mode)}`,
    restoring: { sessionId, modeId: pinnedMode },
    restored: () => {
      session.claimedMode = pinnedMode;
      return { sessionUpdate: "current_mode_update", currentModeId: pinnedMode };
    },
  };
}

/** The options among those that an agent reports which are held at another value. */
function leftOptionsIn(session: GovernedSession, configOptions: unknown): readonly LeftSetting[] {
  const { pinnedOptions, pendingOption, agentSessionId: sessionId } = session;
  const left: LeftSetting[] = [];
  for (const [option, value] of optionsIn(configOptions)) {
    const pinned = pinnedOptions.get(option);
    const isSet = [pinned, option === pendingOption?.id ? pendingOption.value : pinned].some(
      (one) => String(one) === String(value),
    );
    if (option === "mode" || pinned === undefined || value === undefined || isSet) continue;
    left.push({
      tool: SET_OPTION,
      rawInput: { option, value, asks: "false" },
      reason: `the agent set ${quoted(option)}, which is held, to ${quoted(value)}`,
      restoring: typedOption({ sessionId, configId: option, value: pinned }),
      restored: (result) => {
        const { configOptions: options } = membersOf(result);
        return Array.isArray(options)
          ? { sessionUpdate: "config_option_update", configOptions: options }
          : undefined;
      },
    });
  }
  return left;
}

function quoted(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 80) ?? "nothing";
}

/** Decides after the fact about a setting that an agent has left, and sets it back. */
async function restoreSetting(session: GovernedSession, left: LeftSetting): Promise<Decided> {
  const { agent, newId, onFault } = session.context;
  const { tool, rawInput, reason, restoring, restored } = left;
  const call = { id: newId(), reported: { name: tool, rawInput } };
  const payload = { tool_name: tool, arguments: rawInput };
  const seen = { call, outcome: "completed" };
  const point = { kind: "after_the_fact", payload, tools: "acp", seen } as const;
  const decided = await placed((await enforce(session, point)).verdict);
  const { turn } = session;
  const setting = String(rawInput.option ?? tool);
  const isAgain = turn?.leftSettings.has(setting) === true;
  turn?.leftSettings.add(setting);
  // The agent answers only after this update was handled.
  const restoration = agent
    .request(tool, restoring, { signal: AbortSignal.timeout(RESTORE_MS) })
    .then((result) => {
      const shown = restored(result);
      if (isAgain) throw new Error("it does so again and again");
      return shown && showUpdate(session, shown);
    })
    .catch((error: unknown) => {
      onFault(`${reason}; it was set back: ${errorMessage(error)}`);
      return endTurn(session, tool, { ...decided, reason });
    });
  turn?.awaits(restoration);
  restoration.catch((error: unknown) => onFault(`${reason}: ${String(error)}`));
  return decided;
}

/** The name of a child session that an agent began by itself, in rules and records. */
const CHILD = "session/subagent";
/** How many child sessions of one session are known. */
const MOST_CHILDREN = 1_000;

/**
 * Records a child session that an agent announces. Reins did not start it and refuses its requests, so it is decided after
 * the fact, like each call in it; a block ends the turn.
 */
export async function noteChild(session: GovernedSession, update: JsonObject): Promise<JsonObject> {
  const { sessionId, title } = readUpdate("subagent_update", update);
  const { children } = session;
  if (!session.context.profile.isObserved || sessionId === undefined) return update;
  if (children.has(sessionId) || children.size >= MOST_CHILDREN) return update;
  children.add(sessionId);
  const { sessionUpdate: _, sessionId: session_id, _meta, ...announced } = update;
  const rawInput = { session_id, ...announced };
  const claims = title === undefined ? {} : { title };
  const call = { id: sessionId, reported: { name: CHILD, rawInput, ...claims } };
  const payload = { tool_name: CHILD, arguments: rawInput, ...claims };
  const point = {
    kind: "after_the_fact",
    payload,
    tools: "acp",
    seen: { call, outcome: "unknown" },
  } as const;
  const decided = await placed((await enforce(session, point)).verdict);
  if (decided.verdict === "blocked") await endTurn(session, CHILD, decided);
  return withMeta(update, ungatedMeta(decided));
}
