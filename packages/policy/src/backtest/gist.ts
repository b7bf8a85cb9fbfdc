import type { Action } from "../action.ts";
import type { Effect, ReadEffect, WriteEffect } from "../effect.ts";

const MAX_PARTS = 3;
const MAX_PART = 48;

/** What an action does in a few words: what it runs, writes and speaks to, or what it reads if that is all. */
export function gistOf({ effects, tool }: Pick<Action, "effects" | "tool">): string {
  const telling = effects.filter(({ kind }) => kind !== "read");
  const parts = [...new Set((telling.length > 0 ? telling : effects).map(partOf))];
  if (parts.length === 0) return tool;
  const shown = parts.slice(0, MAX_PARTS).map(cut);
  const more = parts.length - shown.length;
  return `${shown.join("; ")}${more > 0 ? `; ${more} more` : ""}`;
}

function partOf(effect: Effect): string {
  switch (effect.kind) {
    case "exec":
      return [effect.command, ...effect.arguments.map((word) => word ?? "…")].join(" ");
    case "write":
      return `${effect.destroys ? "destroys" : "writes"} ${pathOf(effect)}`;
    case "read":
      return `reads ${pathOf(effect)}`;
    case "net":
      return `speaks to ${effect.host === "*" ? "some host" : effect.host}`;
  }
}

function pathOf({ inside, path, deep }: ReadEffect | WriteEffect): string {
  // Of the session's root itself the path inside is empty.
  return `${inside || path}${deep ? " and below" : ""}`;
}

function cut(text: string): string {
  return text.length <= MAX_PART ? text : `${text.slice(0, MAX_PART - 1).toWellFormed()}…`;
}
