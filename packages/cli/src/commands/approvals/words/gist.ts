import type { Approval } from "@reins/api";
import { visibleJson } from "@reins/supervisor/visible";
import { effectGist } from "./effect.ts";
import { exact } from "./exact.ts";

type Facts = Pick<Approval["facts"], "tool" | "effects" | "opaque" | "arguments">;

/** What somebody wants to do, on one line: what it would do where that is known, else what the tool was given. */
export function gistOf({ tool, effects, opaque, arguments: given }: Facts): string {
  const does = opaque || effects.length === 0 ? argumentGist(given) : effects.map(effectGist).join("; ");
  return `${exact(tool)}: ${does}`;
}

function argumentGist(given: unknown): string {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return visibleJson(given);
  const members = Object.entries(given).map(([name, value]) => {
    return `${exact(name)} ${typeof value === "string" ? exact(value) : visibleJson(value)}`;
  });
  return members.length > 0 ? members.join("; ") : "given nothing";
}
