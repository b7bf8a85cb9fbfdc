import { type JsonObject, membersOf } from "@reins/host";
import { printable } from "../../printable.ts";

/** A question on a terminal: what is asked, and which key stands for which option. */
export interface Question {
  readonly text: string;
  readonly choices: ReadonlyMap<string, string>;
}

const KEYS: Readonly<Record<string, string | undefined>> = {
  allow_once: "a",
  allow_always: "A",
  reject_once: "d",
  reject_always: "D",
};

/** What a permission request is on a terminal: the exact call, why a person is asked, and the keys. */
export function questionText(params: JsonObject): Question {
  const { title, name, rawInput } = membersOf(params.toolCall);
  const { reason, approval } = membersOf(membersOf(params._meta).reins);
  const choices = new Map<string, string>();
  const words: string[] = [];
  for (const option of Array.isArray(params.options) ? params.options.map(membersOf) : []) {
    const key = KEYS[String(option.kind)];
    if (key === undefined || choices.has(key)) continue;
    choices.set(key, String(option.optionId));
    words.push(`${key} = ${printable(String(option.name ?? option.kind))}`);
  }
  const lines = [
    `? ${printable(String(title ?? name ?? "the agent asks"))}`,
    ...(rawInput === undefined ? [] : [`  ${printable(JSON.stringify(rawInput))}`]),
    ...(reason === undefined ? [] : [`  why you are asked: ${printable(String(reason))}`]),
    ...(approval === undefined ? [] : [`  from elsewhere: reins approvals approve ${String(approval)}`]),
    `  ${words.join(", ")}`,
  ];
  return { text: lines.join("\n"), choices };
}
