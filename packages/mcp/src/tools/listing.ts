/** One walk through the pages of a server's tools. */
export class Listing {
  readonly #pages = new Map<string | undefined, readonly string[]>();

  /** Takes the names on a page; a page that is asked for again takes the place of its former self. */
  turn(cursor: string | undefined, names: readonly string[]): void {
    this.#pages.set(cursor, names);
  }

  /** The names that occur more than once, so that nobody can tell which tool is meant. */
  ambiguous(): ReadonlySet<string> {
    const seen = new Set<string>();
    const twice = new Set<string>();
    for (const name of [...this.#pages.values()].flat()) {
      if (seen.has(name)) twice.add(name);
      seen.add(name);
    }
    return twice;
  }
}
