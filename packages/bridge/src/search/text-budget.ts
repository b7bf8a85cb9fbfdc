/** As much of each text as counts whatever is left. */
const LEAST = 64;

/**
 * How many characters an index takes: to index them takes time in which nothing else is
 * done. What comes first is taken whole, and of what comes after the budget is used up only the beginning.
 */
export class TextBudget {
  #left: number;

  constructor(characters: number) {
    this.#left = characters;
  }

  /** What counts of a text. */
  take(text: string): string {
    const taken = text.slice(0, Math.max(LEAST, this.#left));
    this.#left -= taken.length;
    return taken;
  }

  /** Gives back what an indexed text took. */
  give(characters: number): void {
    this.#left += characters;
  }
}
