import type { JsonObject } from "@reins/acp";
import type { SessionHeader } from "../history/session-store.ts";
import type { ThoughtLevel } from "../models/model.ts";
import type { Models } from "../models/models.ts";
import type { HostServices } from "../tools/host-services.ts";

const MODES = [
  { id: "default", name: "Default", description: "Works with all its tools; every call is decided." },
  { id: "plan", name: "Plan", description: "Reads and plans, and changes nothing." },
];
/** There with a host that runs action graphs. */
const PROTOCOL_MODE = {
  id: "protocol",
  name: "Protocol",
  description: "Declares graphs of actions; Reins decides, runs and records each action.",
};

function modesOf({ protocol }: HostServices): readonly { readonly id: string }[] {
  return protocol ? [...MODES, PROTOCOL_MODE] : MODES;
}

/** The ids of the modes that a session can be in. */
export function modeIds(services: HostServices): readonly string[] {
  return modesOf(services).map(({ id }) => id);
}

const THOUGHT_LEVELS: readonly { readonly value: ThoughtLevel; readonly name: string }[] = [
  { value: "default", name: "Model default" },
  { value: "off", name: "Off" },
  { value: "low", name: "Low" },
  { value: "medium", name: "Medium" },
  { value: "high", name: "High" },
];

export function isThoughtLevel(level: string): level is ThoughtLevel {
  return THOUGHT_LEVELS.some(({ value }) => value === level);
}

/** The modes and options of a session, in ACP's form. */
export function settingsOf(
  { mode, model, thoughtLevel }: SessionHeader,
  { models, services }: { readonly models: Models; readonly services: HostServices },
): JsonObject {
  return {
    modes: { currentModeId: mode, availableModes: modesOf(services) },
    configOptions: configOptionsOf({ model, thoughtLevel }, models),
  };
}

/** The options of a session. A model that was chosen by name is listed while it is in use. */
export function configOptionsOf(
  { model, thoughtLevel }: Pick<SessionHeader, "model" | "thoughtLevel">,
  { choices }: Pick<Models, "choices">,
): readonly JsonObject[] {
  const models = choices.includes(model) ? choices : [model, ...choices];
  return [
    {
      id: "model",
      name: "Model",
      category: "model",
      type: "select",
      currentValue: model,
      options: models.map((id) => ({ value: id, name: id })),
    },
    {
      id: "thought_level",
      name: "Thinking",
      category: "thought_level",
      type: "select",
      currentValue: thoughtLevel,
      options: THOUGHT_LEVELS,
    },
  ];
}
