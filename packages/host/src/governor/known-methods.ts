import { type JsonObject, membersOf } from "../acp/message.ts";

/** What Reins's own agent takes beside what begins, prompts and ends a session. */
const OURS: ReadonlySet<string> = new Set(["session/set_mode", "session/set_config_option"]);

/** What any agent may take without saying so when it introduces itself; a session tells of modes, options and models. */
const BASELINE: ReadonlySet<string> = new Set([...OURS, "session/set_model", "authenticate"]);

/** The names that Reins keeps for itself; no agent is asked by one. */
export const RESERVED = /^_(reins|sandboxagent)\//;

/** Whether a method is one that somebody added to ACP, and not a name of ours. */
export function isCustom(method: string): boolean {
  return method.startsWith("_") && !RESERVED.test(method);
}

/**
 * Whether an agent may know a method, by what it said of itself: an optional one of ACP by its capability, a custom one by
 * its namespace in some `_meta`. Nobody is asked about a method that it does not know.
 */
export function mayKnow(method: string, isOurs: boolean, initialized: JsonObject): boolean {
  if (RESERVED.test(method)) return false;
  if (isOurs) return OURS.has(method);
  if (BASELINE.has(method)) return true;
  const capabilities = membersOf(initialized.agentCapabilities);
  const ofSessions = membersOf(capabilities.sessionCapabilities);
  const [group = "", ...rest] = method.split("/");
  const name = rest.join("/");
  if (method.startsWith("_")) {
    const metas = [initialized, capabilities, ofSessions].map(({ _meta }) => membersOf(_meta));
    return metas.some(
      (meta) => group.slice(1) in meta || JSON.stringify(meta).includes(JSON.stringify(method)),
    );
  }
  if (method === "logout") return isOffered(membersOf(capabilities.auth).logout);
  if (group === "session")
    return isOffered(ofSessions[name]) || isOffered(ofSessions[name.replace(/^un/, "")]);
  return name !== "" && isOffered(capabilities[group]);
}

function isOffered(capability: unknown): boolean {
  return capability !== undefined && capability !== null && capability !== false;
}
