import type { Action, Effect, ReadEffect, WriteEffect } from "../action.ts";

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

/** An action of the past, by way of example. */
export interface Example {
  /** The content id of its entry. */
  readonly entry: string;
  /** What it did, in a few words. */
  readonly what: string;
}

/** Actions that are alike. */
export type Group<Key> = Key & { readonly count: number; readonly examples: readonly Example[] };

/** How many groups are distinguished, which bounds the memory for any number of made-up names. */
const MAX_GROUPS = 5_000;
/** Among how many of a group examples are looked for; those that do the same are not shown twice. */
const LOOKED_AT = 100;

interface Counted<Key> {
  readonly key: Key;
  count: number;
  readonly examples: Example[];
}

/** Counts actions by what they have in common, with the first few that differ as examples. */
export class Groups<Key extends object> {
  readonly #examples: number;
  readonly #groups = new Map<string, Counted<Key>>();
  #leftOut = 0;

  constructor(examples: number) {
    this.#examples = examples;
  }

  /** Counts one. `parts` identify its group; the key is built for the first of a group only. */
  add(parts: readonly (string | undefined)[], keyOf: () => Key, example: () => Example): void {
    const name = JSON.stringify(parts);
    let group = this.#groups.get(name);
    if (!group) {
      if (this.#groups.size >= MAX_GROUPS) {
        this.#leftOut += 1;
        return;
      }
      group = { key: keyOf(), count: 0, examples: [] };
      this.#groups.set(name, group);
    }
    group.count += 1;
    if (group.examples.length >= this.#examples || group.count > LOOKED_AT) return;
    const found = example();
    if (!group.examples.some(({ what }) => what === found.what)) group.examples.push(found);
  }

  /** How many were counted in no group, because there were too many groups already. */
  get leftOut(): number {
    return this.#leftOut;
  }

  /** The groups, the largest first, those of a size by name. */
  sorted(): Group<Key>[] {
    return [...this.#groups]
      .sort(([name, { count }], [other, { count: others }]) => others - count || (name < other ? -1 : 1))
      .map(([, { key, count, examples }]) => ({ ...key, count, examples }));
  }
}
