import { type JsonObject, readResult } from "@reins/acp";
import type { AgentEntry } from "@reins/agents";
import type { HostedAgent } from "./agent-host.ts";

/** The capabilities that agents are offered; the hub answers for clients that lack one. */
const CAPABILITIES: JsonObject = {
  session: { compaction: {}, notices: {}, configOptions: { boolean: {} } },
  elicitation: { form: {}, url: {} },
  _meta: { reins: { bridge: {} } },
};

/** The governor answers for clients that are no hosts. */
const BRIDGE: JsonObject = { reins: { bridge: {} } };

/** How an agent resumes a session, by its capabilities and its known quirks. */
function resumeMethodOf({ quirks }: AgentEntry, initialized: JsonObject): HostedAgent["resumeMethod"] {
  const { loadSession, sessionCapabilities } = readResult("initialize", initialized).agentCapabilities;
  if (sessionCapabilities.resume !== undefined && quirks?.resume !== false) return "session/resume";
  return loadSession === true && quirks?.load !== false ? "session/load" : undefined;
}

/** Initializes an agent that was started, and stops it if that fails. */
export async function initialized(
  agent: Omit<HostedAgent, "initialized" | "resumeMethod">,
): Promise<HostedAgent> {
  const clientInfo = { name: "reins", title: "Reins", version: "0.1.0" };
  const clientCapabilities = agent.entry.builtIn ? { ...CAPABILITIES, _meta: BRIDGE } : CAPABILITIES;
  try {
    const answer = await agent.governor.initialize({ protocolVersion: 1, clientCapabilities, clientInfo });
    return { ...agent, initialized: answer, resumeMethod: resumeMethodOf(agent.entry, answer) };
  } catch (error) {
    await agent.stop("it could not be initialized");
    throw error;
  }
}
