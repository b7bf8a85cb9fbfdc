import { type JsonObject, membersOf } from "@reins/host";
import { printableLine } from "../../printable.ts";

/** A question on a terminal: what is asked, and which key stands for which option. */
export interface Question {
  readonly text: string;
  readonly choices: ReadonlyMap<string, string>;
}

/** The keys, and what each of them does in our words: an option's own name may say anything. */
const KEYS: Readonly<Record<string, readonly [key: string, words: string] | undefined>> = {
  allow_once: ["a", "allow once"],
  allow_always: ["A", "always allow this"],
  reject_once: ["d", "reject"],
  reject_always: ["D", "always reject this"],
};

/** What a permission request is on a terminal: the exact call, why a person is asked, and the keys. */
export function questionText(params: JsonObject): Question {
  const { title, name, rawInput, locations } = membersOf(params.toolCall);
  const { reason, approval } = membersOf(membersOf(params._meta).reins);
  const choices = new Map<string, string>();
  const words: string[] = [];
  for (const option of Array.isArray(params.options) ? params.options.map(membersOf) : []) {
    const [key, meaning] = KEYS[String(option.kind)] ?? [];
    if (key === undefined || choices.has(key)) continue;
    choices.set(key, String(option.optionId));
    words.push(`${key} = ${meaning}`);
  }
  const paths = (Array.isArray(locations) ? locations : []).map((one) => membersOf(one).path);
  const lines = [
    `? ${printableLine(String(title ?? name ?? "the agent asks"))}`,
    ...(rawInput === undefined ? [] : [`  with: ${printableLine(JSON.stringify(rawInput))}`]),
    ...paths.map((path) => `  touches: ${printableLine(String(path))}`),
    ...(reason === undefined ? [] : [`  why you are asked: ${printableLine(String(reason))}`]),
    ...(approval === undefined
      ? []
      : [`  from elsewhere: reins approvals approve ${printableLine(String(approval))}`]),
    `  ${words.join(", ")}`,
  ];
  return { text: lines.join("\n"), choices };
}
