import type { Approval } from "@reins/api";
import { visibleLine } from "../../design/visible.ts";

type Effect = Approval["facts"]["effects"][number];

/** One effect of an action on one line. Values from outside are quoted unless they are plain, so that none passes for our words. */
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

/** Words of a command on one line, each quoted unless it is plain. */
export function commandText(words: readonly string[]): string {
  return words.map(quoted).join(" ");
}

/** Whether the effects of an action say all it does, so that an "always" is for them, whatever the arguments. */
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
