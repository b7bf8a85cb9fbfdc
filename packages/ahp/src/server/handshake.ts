import { Refusal, RPC } from "../errors/rpc.ts";
import { type HandshakeRequest, type HandshakeResponse, PROTOCOL_VERSION } from "../protocol/methods.ts";
import type { ServerSettings } from "./options.ts";
import type { Session } from "./sessions.ts";

/** Settles version and capabilities with an agent, or refuses a version of another major. */
export function shakeHands(
  request: HandshakeRequest,
  settings: ServerSettings,
): { response: HandshakeResponse; session: Session } {
  const { protocol_version, agent_info, session_id, agent_id } = request;
  if (majorOf(protocol_version) !== majorOf(PROTOCOL_VERSION)) {
    const details = { supported: PROTOCOL_VERSION };
    const message = `Unsupported protocol version: ${protocol_version}`;
    throw new Refusal(RPC.unsupportedVersion, message, "unsupported_version", details);
  }
  const version = settings.compat ? PROTOCOL_VERSION : lowerMinor(protocol_version);
  const session_token = settings.compat ? undefined : settings.newToken();
  const offered = new Set(agent_info.capabilities);
  const capabilities = settings.info.capabilities.filter((capability) => offered.has(capability));
  return {
    response: {
      protocol_version: version,
      harness_info: settings.info,
      session_token,
      config: settings.config,
    },
    session: { session_id, agent_id, agent_info, protocol_version: version, capabilities, session_token },
  };
}

/** Versions of one major understand each other; the major is the text before the first dot. */
function majorOf(version: string): string | undefined {
  return version.split(".", 1)[0];
}

/** The older of the agent's version and ours; a version without a readable minor is taken for ours. */
function lowerMinor(version: string): string {
  const minor = /^\d+\.(\d+)$/.exec(version)?.[1];
  const ours = Number(PROTOCOL_VERSION.split(".")[1]);
  return minor !== undefined && Number(minor) < ours ? version : PROTOCOL_VERSION;
}
