import type { Approval } from "@reins/api";

type Effect = Approval["facts"]["effects"][number];

/** One thing an action does, in words; what came from elsewhere is quoted where it could pass for ours. */
export function effectText(effect: Effect): string {
  switch (effect.kind) {
    case "read":
      return `reads ${effect.path} (${effect.place})`;
    case "write":
      return `${effect.destroys ? "overwrites or deletes" : "writes"} ${effect.path} (${effect.place})`;
    case "exec": {
      const words = effect.arguments.map((word) =>
        word === null ? "⟨known only when it runs⟩" : quoted(word),
      );
      return `runs ${[effect.command, ...words].join(" ")}${effect.opaque ? " (and whatever that runs)" : ""}`;
    }
    case "net":
      return effect.host === "*" ? "reaches any host" : `reaches ${effect.host}`;
  }
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word);
}

/** Whether the effects of an action say all it does, so that an "always" is for them, whatever the arguments. */
export function saysAll({ effects, opaque, doubts }: Approval["facts"]): boolean {
  const isVague = (effect: Effect) =>
    effect.kind === "exec" ? effect.opaque : effect.kind === "net" && effect.host === "*";
  return !opaque && doubts.length === 0 && effects.length > 0 && !effects.some(isVague);
}
