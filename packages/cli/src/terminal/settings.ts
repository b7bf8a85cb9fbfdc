import { readResult } from "@reins/acp";

/** A setting of a session, such as its mode. */
export interface SessionSetting {
  /** `mode` or `model` of what has a method of its own, else the id of a config option. */
  readonly id: string;
  readonly name: string;
  readonly kind: "mode" | "model" | "option";
  readonly category: string | undefined;
  readonly current: string;
  readonly choices: readonly Choice[];
}

interface Choice {
  readonly value: string;
  readonly name: string;
}

/** Reads the settings of a session; what is not in it stays as it was known. What is also a config option is listed once. */
export function sessionSettings(given: unknown, known: readonly SessionSetting[]): readonly SessionSetting[] {
  const { modes, models, configOptions } = readResult("session/load", given);
  const read = configOptions.flatMap((option): SessionSetting[] => {
    const { id, name, category, type, currentValue: current, options } = option;
    if (id === undefined || name === undefined || type !== "select" || typeof current !== "string") return [];
    const choices = options.flatMap((each) => [...choiceOf(each), ...each.options.flatMap(choiceOf)]);
    return [{ id, name, kind: "option", category, current, choices }];
  });
  const options = read.length > 0 ? read : known.filter(({ kind }) => kind === "option");
  const mode = named(
    "mode",
    "Mode",
    modes.currentModeId,
    modes.availableModes.flatMap(({ id: value, name }) => choiceOf({ value, name })),
  );
  const model = named(
    "model",
    "Model",
    models.currentModelId,
    models.availableModels.flatMap(({ modelId: value, name }) => choiceOf({ value, name })),
  );
  const own = [mode, model].flatMap(
    (setting, index) => setting ?? known.find(({ kind }) => kind === KINDS[index]) ?? [],
  );
  return [...own.filter(({ kind }) => !options.some(({ category }) => category === kind)), ...options];
}

const KINDS = ["mode", "model"] as const;

function named(
  kind: "mode" | "model",
  name: string,
  current: string | undefined,
  choices: readonly Choice[],
): SessionSetting | undefined {
  return current === undefined ? undefined : { id: kind, name, kind, category: kind, current, choices };
}

function choiceOf({ value, name }: { value?: string | undefined; name?: string | undefined }): Choice[] {
  return value === undefined ? [] : [{ value, name: name ?? value }];
}

/** The choice that a word names: by its value or its name, in whatever case. */
export function choiceNamed({ choices }: SessionSetting, word: string): string | undefined {
  const wanted = word.toLowerCase();
  const found =
    choices.find(({ value }) => value === word) ??
    choices.find(({ value, name }) => [value, name].some((each) => each.toLowerCase() === wanted));
  return found?.value;
}
