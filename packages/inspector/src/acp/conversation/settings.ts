import { z } from "zod";
import { visible } from "../../design/visible.ts";

/** One value of a setting. */
interface Choosable {
  readonly value: string;
  readonly name: string;
  readonly about: string | undefined;
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

const text = z.string().nullish();
const Modes = z.looseObject({
  currentModeId: z.string(),
  availableModes: z.array(z.looseObject({ id: z.string(), name: z.string(), description: text })),
});
const Option = z.looseObject({
  id: z.string(),
  name: z.string(),
  category: text,
  type: z.literal("select"),
  currentValue: z.string(),
  options: z.array(z.unknown()),
});
const Choice = z.looseObject({ value: z.string(), name: z.string(), description: text });
const Group = z.looseObject({ options: z.array(z.unknown()) });
const SessionSettings = z.looseObject({ modes: z.unknown(), configOptions: z.array(z.unknown()).nullish() });

/** Reads the settings from a response or update. A mode that is also a config option is listed once. */
export function settingsIn(answer: unknown): readonly Setting[] {
  const read = SessionSettings.safeParse(answer);
  if (!read.success) return [];
  const options = (read.data.configOptions ?? []).flatMap(optionOf);
  if (options.some(({ category }) => category === "mode")) return options;
  return [...modeOf(read.data.modes), ...options];
}

function modeOf(modes: unknown): Setting[] {
  const read = Modes.safeParse(modes);
  if (!read.success) return [];
  const { currentModeId: current, availableModes } = read.data;
  const choices = availableModes.map(({ id, name, description }) => ({
    value: id,
    name: visible(name),
    about: description ?? undefined,
  }));
  return [{ id: "mode", name: "Mode", isMode: true, category: "mode", current, choices }];
}

function optionOf(option: unknown): Setting[] {
  const read = Option.safeParse(option);
  if (!read.success) return [];
  const { id, name, category, currentValue: current, options } = read.data;
  const choices = options.flatMap(choicesOf);
  return [{ id, name: visible(name), isMode: false, category: category ?? undefined, current, choices }];
}

function choicesOf(option: unknown): Choosable[] {
  const group = Group.safeParse(option);
  if (group.success) return group.data.options.flatMap(choicesOf);
  const read = Choice.safeParse(option);
  if (!read.success) return [];
  const { value, name, description } = read.data;
  return [{ value, name: visible(name), about: description ?? undefined }];
}
