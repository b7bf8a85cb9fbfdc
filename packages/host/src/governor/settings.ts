import { type JsonObject, membersOf } from "@reins/acp";
import type { AgentEntry } from "../agents/agent-entry.ts";

/**
 * What a client's wish is, for the rules. Whether the agent still asks for everything afterwards is what the catalogue
 * says: a mode it does not name does not.
 */
export function settingsOf(
  method: string,
  params: JsonObject,
  entry: Pick<AgentEntry, "modes" | "profile">,
): JsonObject {
  switch (method) {
    case "session/set_mode":
      return { mode: params.modeId, asks: String(asksIn(entry, params.modeId)) };
    case "session/set_config_option": {
      const { configId: option, value } = params;
      const { configOptions } = entry.profile;
      const held = Object.hasOwn(configOptions, String(option));
      // What the launch profile sets itself keeps the agent asking.
      const asks =
        option === "mode" ? asksIn(entry, value) : !held || configOptions[String(option)] === value;
      return { option, value, asks: String(asks) };
    }
    case "session/set_model":
      return { model: params.modelId };
    case "authenticate":
      return { method: params.methodId };
    case "providers/set":
      return { provider: params.providerId, url: params.baseUrl };
    default:
      return membersOf(params);
  }
}

/** The choice of a setting as the protocol wants it: a yes or no says that it is one. */
export function typedOption(choice: JsonObject): JsonObject {
  return typeof choice.value === "boolean" ? { ...choice, type: "boolean" } : choice;
}

function asksIn({ modes, profile }: Pick<AgentEntry, "modes" | "profile">, mode: unknown): boolean {
  return typeof mode === "string" && (mode === profile.mode || modes.includes(mode));
}
