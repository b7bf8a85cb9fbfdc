import { type Random, seededRandom } from "../../../../scripts/torture/random.ts";
import type { Harness } from "../harness/harness.ts";
import { Corpus } from "./corpus.ts";
import { type FuzzMessage, show } from "./message.ts";
import { inflate, mutate } from "./mutate.ts";
import { Reference } from "./reference.ts";

const MUTATED = 0.7;
const INFLATED = 0.0005;

/** What one of the fuzzers works with. Each has random choices of its own, so that they do not depend on timing. */
export class FuzzContext {
  readonly harness: Harness;
  readonly random: Random;
  readonly corpus: Corpus;
  readonly reference = new Reference();
  readonly #seed: number;
  readonly #name: string;

  constructor(harness: Harness, seed: number, name: string) {
    this.harness = harness;
    this.#seed = seed;
    this.#name = name;
    this.random = seededRandom(
      (seed + [...name].reduce((sum, char) => sum * 31 + char.charCodeAt(0), 7)) % 2 ** 32,
    );
    this.corpus = new Corpus(this.random, name);
  }

  /** Sound and unsound messages; the last one is sound. */
  messages(count: number): FuzzMessage[] {
    const { random, corpus } = this;
    const made = Array.from({ length: count - 1 }, () => {
      const sound = corpus.next();
      if (random.chance(INFLATED)) return inflate(sound, random);
      return random.chance(MUTATED) ? mutate(sound, random) : sound;
    });
    return [...made, corpus.sentinel()];
  }

  /** What went wrong, with all that is needed to see it again. */
  offence(what: string, messages: readonly FuzzMessage[], cause?: unknown): Error {
    const shown = messages.slice(0, 20).map((message) => `  ${show(message)}`);
    return new Error(`${what} (${this.#name}, seed ${this.#seed})\n${shown.join("\n")}`, { cause });
  }
}
