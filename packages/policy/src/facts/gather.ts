import { errorMessage } from "@reins/kit";
import type { Action, Claims, ControlEvent } from "../action.ts";
import type { FilePort } from "./files.ts";
import { Findings } from "./findings.ts";
import { Places } from "./path/places.ts";
import { FindingResolver } from "./resolve-findings.ts";
import { shellParser } from "./shell/reader/reader.ts";
import { CALL_MEMBERS, readToolCall, type ToolCall, type ToolTables } from "./tool/tool-call.ts";
import { findByTable, readUnknownArguments, shellRunner, type ToolSetting } from "./tool/tool-findings.ts";

/**
 * What the harness knows of the session an action belongs to. Keep one object per session: what follows from it
 * (where its folders really lie) is found out once.
 */
export interface FactsContext {
  /** The folders the session works in, absolute. */
  readonly roots: readonly string[];
  /** Where these really lie, if that was found out when the session was let into them. */
  readonly realRoots?: readonly string[] | undefined;
  /** Where the agent's relative paths and commands start, absolute. */
  readonly cwd: string;
  /** The agent's home, absolute: what `~` means to it. */
  readonly home: string;
  /** The folder of the harness itself (REINS_HOME), absolute. */
  readonly harness: string;
  /** The variables that the agent's commands are known to see. */
  readonly environment?: Readonly<Record<string, string>> | undefined;
  /** The session's own folders for passing files, absolute; by default what TMPDIR names in its variables. */
  readonly temporary?: readonly string[] | undefined;
  /** Whose tool table applies. */
  readonly agent: string;
  readonly tables: ToolTables;
  readonly files: FilePort;
}

const places = new WeakMap<FactsContext, Promise<Places>>();

/**
 * What an action is, as far as that can be found out: the tool by the agent's table, its paths followed on the file
 * system, its commands read as a shell would. Never rejects; what cannot be found out is a doubt, and what may do more
 * than is found is opaque. `files` is the file system as far as it was looked at already.
 */
export async function gatherFacts(
  event: ControlEvent,
  context: FactsContext,
  files = context.files,
): Promise<Action> {
  if (!isAction(event) && !tellsOfCall(event)) return nothing({});
  const findings = new Findings();
  let call: ToolCall = { tool: "", versions: [], claims: {}, folders: [], doubts: [] };
  try {
    call = readToolCall(event.payload);
    if (call.tool === "" && call.versions.length === 0 && !isAction(event)) return nothing(call.claims);
    for (const why of call.doubts) findings.hide(why);
    await find(call, context, findings);
    const seen = files === context.files ? context : { ...context, files };
    const effects = await new FindingResolver(seen, await findFolders(context), findings).effects();
    const runsHidden = effects.some((effect) => effect.kind === "exec" && effect.opaque);
    return {
      tool: call.tool,
      effects,
      opaque: findings.opaque || runsHidden,
      ...(findings.unaccounted && { unaccounted: true as const }),
      doubts: findings.doubts,
      claims: call.claims,
      arguments: call.versions[0],
    };
  } catch (error) {
    // Whatever this is, it was brought about by what an agent sent, and must not be taken for an empty action.
    const reason = errorMessage(error);
    const doubts = [...findings.doubts, `the facts could not be gathered: ${reason}`];
    return {
      tool: call.tool,
      effects: [],
      opaque: true,
      unaccounted: true,
      doubts,
      claims: call.claims,
      arguments: call.versions[0],
    };
  }
}

function isAction(event: ControlEvent): boolean {
  return event.event_type === "pre_action" || event.event_type === "post_action";
}

/** Whether a payload says anything of a call; that of a prompt does not. */
function tellsOfCall({ payload }: ControlEvent): boolean {
  if (typeof payload !== "object" || payload === null) return false;
  return Object.keys(payload).some((name) => CALL_MEMBERS.has(name));
}

function nothing(claims: Claims): Action {
  return { tool: "", effects: [], opaque: false, doubts: [], claims, arguments: undefined };
}

async function find(call: ToolCall, context: FactsContext, findings: Findings): Promise<void> {
  const shell = shellRunner(findings, await shellParser(), context);
  const folders = [...new Set([context.cwd, ...call.folders.filter((folder) => folder.startsWith("/"))])];
  if (call.folders.some((folder) => !folder.startsWith("/")))
    findings.hide("the payload's folder is not absolute");
  const setting: ToolSetting = { findings, shell, folders };
  const table = context.tables.get(context.agent);
  const tool = table && Object.hasOwn(table.tools, call.tool) ? table.tools[call.tool] : undefined;
  const versions = call.versions.length === 0 ? [undefined] : call.versions;
  for (const version of versions) {
    if (tool) findByTable(call.tool, tool, version, setting);
    else readUnknownArguments(version, setting);
  }
  if (!tool && call.tool !== "")
    findings.hide(`${JSON.stringify(call.tool).slice(0, 80)} is not a known tool of ${context.agent}`);
}

/** Where the folders of a session really lie: found out once, by the first action that needs it or ahead of that. */
export function findFolders(context: FactsContext): Promise<Places> {
  let known = places.get(context);
  if (known === undefined) {
    known = Places.of(context);
    places.set(context, known);
  }
  return known;
}
