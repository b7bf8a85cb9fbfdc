import { readResult } from "@reins/acp";
import { visible } from "../../design/visible.ts";

interface Choosable {
  readonly value: string;
  readonly name: string;
}

/** A setting of a session. */
export interface Setting {
  /** `mode`, or the id of a config option. */
  readonly id: string;
  readonly name: string;
  readonly isMode: boolean;
  readonly category: string | undefined;
  readonly current: string;
  readonly choices: readonly Choosable[];
}

/** Reads the settings from a response or update. A mode that is also a config option is listed once. */
export function settingsIn(answer: unknown): readonly Setting[] {
  const { modes, configOptions } = readResult("session/load", answer);
  const options = configOptions.flatMap(({ id, name, category, type, currentValue: current, options }) => {
    if (id === undefined || name === undefined || type !== "select" || typeof current !== "string") return [];
    const choices = options.flatMap((option) => [...choiceOf(option), ...option.options.flatMap(choiceOf)]);
    return [{ id, name: visible(name), isMode: false, category, current, choices }];
  });
  const { currentModeId: current, availableModes } = modes;
  if (current === undefined || options.some(({ category }) => category === "mode")) return options;
  const choices = availableModes.flatMap(({ id, name }) => choiceOf({ value: id, name }));
  return [{ id: "mode", name: "Mode", isMode: true, category: "mode", current, choices }, ...options];
}

function choiceOf(given: {
  readonly value?: string | undefined;
  readonly name?: string | undefined;
}): readonly Choosable[] {
  const { value, name } = given;
  return value === undefined || name === undefined ? [] : [{ value, name: visible(name) }];
}
