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
