import type { Approval } from "@reins/api";
import { exact } from "./exact.ts";

type Effect = Approval["facts"]["effects"][number];

/** What one effect does, in words. */
export function effectWords(effect: Effect): string {
  switch (effect.kind) {
    case "read":
      return `read ${exact(effect.path)} (${effect.place})`;
    case "write":
      return `write ${exact(effect.path)} (${effect.place})${effect.destroys ? ", what is there is lost" : ""}`;
    case "exec":
      return `run ${[effect.command, ...effect.arguments].map(word).join(" ")}${effect.opaque ? " (opaque)" : ""}`;
    case "net":
      return `reach ${effect.host === "*" ? "any host" : exact(effect.host)}`;
  }
}

/** The same in as few words as will do in a list. */
export function effectGist(effect: Effect): string {
  if (effect.kind === "read" || effect.kind === "write")
    return `${effect.kind} ${exact(effect.inside ?? effect.path)}`;
  return effectWords(effect);
}

function word(text: string | null): string {
  return text === null ? "(known only when it runs)" : exact(text);
}
