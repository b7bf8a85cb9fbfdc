import type { Approval } from "@reins/api";
import { z } from "zod";
import { visibleLine } from "../../design/format.ts";

type Effect = Approval["facts"]["effects"][number];

/** Formats one effect on one line. Values are quoted unless they are plain, so that none passes for our words. */
export function effectText(effect: Effect): string {
  switch (effect.kind) {
    case "read":
      return `reads ${pathText(effect)}`;
    case "write":
      return `${effect.destroys ? "overwrites or deletes" : "writes"} ${pathText(effect)}`;
    case "exec": {
      const words = effect.arguments.map((word) =>
        word === null ? "⟨known only when it runs⟩" : quoted(word),
      );
      const command = [quoted(effect.command), ...words].join(" ");
      return `runs ${command}${effect.opaque ? " (and whatever that runs)" : ""}`;
    }
    case "net":
      return effect.host === "*" ? "reaches any host" : `reaches ${quoted(effect.host)}`;
  }
}

/** Formats a command on one line; words that are not plain are quoted. */
export function commandText(words: readonly string[]): string {
  return words.map(quoted).join(" ");
}

/** Whether the effects describe the action completely, so that an "always" covers any arguments with these effects. */
export function saysAll({ effects, opaque, doubts }: Approval["facts"]): boolean {
  const isVague = (effect: Effect) =>
    effect.kind === "exec" ? effect.opaque : effect.kind === "net" && effect.host === "*";
  return !opaque && doubts.length === 0 && effects.length > 0 && !effects.some(isVague);
}

function pathText({ path, place, deep }: Extract<Effect, { kind: "read" | "write" }>): string {
  return `${quoted(path)}${deep === true ? " and everything below it" : ""} (${visibleLine(place)})`;
}

function quoted(word: string): string {
  return visibleLine(/^[\p{L}\p{N}@%+=:,./_~*-]+$/u.test(word) ? word : JSON.stringify(word));
}

/** A call in its most readable form; `rest` has the arguments that this form does not show. */
type ExactCall =
  | { readonly kind: "command"; readonly command: string; readonly rest: Arguments }
  | {
      readonly kind: "diff";
      readonly path: string;
      readonly before: string;
      readonly after: string;
      readonly rest: Arguments;
    }
  | { readonly kind: "arguments"; readonly value: unknown };

type Arguments = Readonly<Record<string, unknown>>;

const text = z.string();
const Command = z.looseObject({ command: text });
const Edits = z.union([
  z
    .looseObject({ path: text, old_text: text, new_text: text })
    .transform(({ path, old_text: before, new_text: after, ...rest }) => ({ path, before, after, rest })),
  z
    .looseObject({ file_path: text, old_string: text, new_string: text })
    .transform(({ file_path: path, old_string: before, new_string: after, ...rest }) => ({
      path,
      before,
      after,
      rest,
    })),
  z
    .looseObject({ path: text, content: text })
    .transform(({ path, content: after, ...rest }) => ({ path, before: "", after, rest })),
  z
    .looseObject({ file_path: text, content: text })
    .transform(({ file_path: path, content: after, ...rest }) => ({ path, before: "", after, rest })),
]);

/** Classifies a call as command, edit or plain arguments. No argument is left out. */
export function exactCall(given: unknown): ExactCall {
  const called = Command.safeParse(given);
  if (called.success) {
    const { command, ...rest } = called.data;
    return { kind: "command", command, rest };
  }
  const edit = Edits.safeParse(given);
  return edit.success ? { kind: "diff", ...edit.data } : { kind: "arguments", value: given };
}
