import { isObject, type JsonObject, membersOf } from "@reins/acp";

/** The models of a session, as `_sandboxagent/session/list_models` tells them. */
export interface SessionModels {
  readonly availableModels: readonly JsonObject[];
  readonly currentModelId: string | null;
}

/** The setting by which a session's model is chosen, if its agent has one. */
export function modelOption({ configOptions }: JsonObject): JsonObject | undefined {
  const options: unknown[] = Array.isArray(configOptions) ? configOptions : [];
  return options.filter(isObject).find(({ category }) => category === "model");
}

/** The models that an agent told of: as a setting, or in the older form. */
export function modelsOf(settings: JsonObject): SessionModels | undefined {
  const option = modelOption(settings);
  if (option) {
    const availableModels = choicesOf(option).map(({ value, name, description }) =>
      modelOf({ modelId: value, name, description }),
    );
    return { availableModels, currentModelId: textOr(option.currentValue) };
  }
  const { availableModels, currentModelId } = membersOf(settings.models);
  if (!Array.isArray(availableModels)) return undefined;
  return {
    availableModels: availableModels.filter(isObject).map(modelOf),
    currentModelId: textOr(currentModelId),
  };
}

/** The choices of a setting, in groups or not. */
export function choicesOf({ options, groups }: JsonObject): readonly JsonObject[] {
  const all: unknown[] = [options, groups].flatMap((each): unknown[] => (Array.isArray(each) ? each : []));
  return all.filter(isObject).flatMap((one) => (Array.isArray(one.options) ? choicesOf(one) : [one]));
}

function modelOf(model: JsonObject): JsonObject {
  const { modelId, name, description = null } = model;
  return { defaultVariant: null, variants: [], ...model, modelId, name: name ?? modelId, description };
}

function textOr(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
