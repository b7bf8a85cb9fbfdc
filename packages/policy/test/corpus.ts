import { readFileSync } from "node:fs";
import { z } from "zod";
import { CONTROL_EVENTS, type ControlEvent } from "../src/action.ts";
import type { Machine } from "./machine.ts";

/** Members that an effect has to have; where a list stands, one of it. */
const EffectPattern = z.record(z.string(), z.unknown());

const Case = z.strictObject({
  id: z.string(),
  /** By default `claude-code`. */
  agent: z.string().optional(),
  /** Short for a call of Bash with this command. */
  command: z.string().optional(),
  payload: z.unknown().optional(),
  /** The payload as JSON text, for what a parsed one cannot show. */
  json: z.string().optional(),
  /** Words in the text above that stand for something long: `open` and `close` so many times around `middle`. */
  grow: z
    .record(
      z.string(),
      z.strictObject({ open: z.string(), close: z.string(), middle: z.string(), times: z.int() }),
    )
    .optional(),
  event: z.enum(CONTROL_EVENTS).optional(),
  why: z.string().optional(),
  /** Where the idea is from. */
  source: z.string(),
});

/** Something that must not pass for harmless. */
export const Attack = Case.extend({
  expect: z.strictObject({
    opaque: z.boolean().optional(),
    effects: z.array(EffectPattern).optional(),
    /** A part of some doubt. */
    doubt: z.string().optional(),
  }),
});
export type Attack = z.infer<typeof Attack>;

/** Something that developers do all day. */
export const Ordinary = Case.extend({
  /** `opaque` is execution whose effects cannot be known, `asked` what a person should decide. */
  expect: z.enum(["harmless", "opaque", "network", "asked"]),
});
export type Ordinary = z.infer<typeof Ordinary>;

/** One of the actions of a day, by what kind of work it is. */
const DayAction = Case.omit({ source: true }).extend({ group: z.string() });
export type DayAction = z.infer<typeof DayAction>;

/** The actions of `corpus/day.jsonl`. */
export function dayActions(): readonly DayAction[] {
  return lines("day.jsonl").map((line) => DayAction.parse(line));
}

/** The attacks of `corpus/attacks.jsonl`. */
export function attacks(): readonly Attack[] {
  return lines("attacks.jsonl").map((line) => Attack.parse(line));
}

/** The actions of `corpus/ordinary.jsonl`. */
export function ordinaryActions(): readonly Ordinary[] {
  return lines("ordinary.jsonl").map((line) => Ordinary.parse(line));
}

function lines(name: string): readonly unknown[] {
  const text = readFileSync(new URL(`../corpus/${name}`, import.meta.url), "utf8");
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line): unknown => JSON.parse(line));
}

/** The event that a case describes, on a machine. */
export function eventOf(one: Omit<z.infer<typeof Case>, "source">, machine: Machine): ControlEvent {
  const payload =
    one.command === undefined ? one.payload : { tool_name: "Bash", arguments: { command: one.command } };
  let text = one.json ?? JSON.stringify(payload ?? null);
  for (const [word, { open, close, middle, times }] of Object.entries(one.grow ?? {})) {
    text = text.replaceAll(word, open.repeat(times) + middle + close.repeat(times));
  }
  return {
    event_type: one.event ?? "pre_action",
    session_id: "session",
    agent_id: one.agent ?? "claude-code",
    depth: 0,
    payload: JSON.parse(machine.fill(text)),
  };
}
