import type { JsonObject } from "@reins/acp";
import type { SessionHeader } from "../history/session-store.ts";
import type { ThoughtLevel } from "../models/model.ts";
import type { Models } from "../models/models.ts";

const MODES = [
  { id: "default", name: "Default", description: "Works with all its tools; every call is decided." },
  { id: "plan", name: "Plan", description: "Reads and plans, and changes nothing." },
];

const THOUGHT_LEVELS: readonly { readonly value: ThoughtLevel; readonly name: string }[] = [
  { value: "default", name: "Model default" },
  { value: "off", name: "Off" },
  { value: "low", name: "Low" },
  { value: "medium", name: "Medium" },
  { value: "high", name: "High" },
];

export function isMode(mode: string): boolean {
  return MODES.some(({ id }) => id === mode);
}

export function isThoughtLevel(level: string): level is ThoughtLevel {
  return THOUGHT_LEVELS.some(({ value }) => value === level);
}

/** The modes and options of a session, in ACP's form. */
export function settingsOf({ mode, model, thoughtLevel }: SessionHeader, models: Models): JsonObject {
  return {
    modes: { currentModeId: mode, availableModes: MODES },
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
