/** Names and values that tell one series of a measure from another. */
export type Labels = Readonly<Record<string, string>>;

/** Counts, apart for each set of labels. There are as many sets as a program has words for, never as many as people. */
export class Counter {
  readonly #counts = new Map<string, { readonly labels: Labels; value: number }>();
  #total = 0;

  /** Counts one more, or some. */
  add(labels: Labels = {}, by = 1): void {
    this.#total += by;
    const key = Object.values(labels).join("\n");
    const known = this.#counts.get(key);
    if (known) known.value += by;
    else this.#counts.set(key, { labels, value: by });
  }

  /** All of them together. */
  get total(): number {
    return this.#total;
  }

  /** Each set of labels with its count. */
  get series(): readonly { readonly labels: Labels; readonly value: number }[] {
    return [...this.#counts.values()];
  }

  /** The counts by the value of one label. */
  by(label: string): Readonly<Record<string, number>> {
    const counts = new Map<string, number>();
    for (const { labels, value } of this.#counts.values()) {
      const name = labels[label];
      if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + value);
    }
    return Object.fromEntries(counts);
  }
}
