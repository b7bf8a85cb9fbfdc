import type { Harness } from "./harness/harness.ts";
import type { Report } from "./harness/settings.ts";

const MEGABYTE = 2 ** 20;

/** Looks at a harness now and then, and tells how its memory developed. */
export class MemoryWatch {
  readonly #harness: Harness;
  readonly #first: Report;
  readonly #samples: { at: number; report: Report }[] = [];

  private constructor(harness: Harness, first: Report) {
    this.#harness = harness;
    this.#first = first;
  }

  static async start(harness: Harness): Promise<MemoryWatch> {
    return new MemoryWatch(harness, await harness.report());
  }

  /** Takes a sample; `at` is how many messages had been sent. */
  async look(at: number): Promise<Report> {
    const report = await this.#harness.report();
    this.#samples.push({ at, report });
    return report;
  }

  /** The most memory that was resident. */
  get peak(): number {
    return Math.max(this.#first.rss, ...this.#samples.map(({ report }) => report.rss));
  }

  /**
   * By how many bytes what lives in memory grew for each message. Compares the least of the second and of the last
   * quarter: a look may fall on a moment in which a large message is being read.
   */
  get liveSlope(): number {
    return this.#slope(({ live }) => live);
  }

  /** The same of resident memory. */
  get rssSlope(): number {
    return this.#slope(({ rss }) => rss);
  }

  /** For a log. */
  toString(): string {
    const last = this.#samples.at(-1)?.report ?? this.#first;
    return [
      `resident ${megabytes(this.#first.rss)} at first, ${megabytes(last.rss)} at last, ${megabytes(this.peak)} at most`,
      `live ${megabytes(this.#first.live)} at first, ${megabytes(last.live)} at last`,
      `slope ${this.rssSlope.toFixed(1)} resident and ${this.liveSlope.toFixed(1)} live bytes a message`,
    ].join("; ");
  }

  #slope(measure: (report: Report) => number): number {
    const quarter = Math.floor(this.#samples.length / 4);
    const least = (from: number) => {
      const samples = this.#samples.slice(from * quarter, (from + 1) * quarter);
      return samples.toSorted((left, right) => measure(left.report) - measure(right.report))[0];
    };
    const [early, late] = [least(1), least(3)];
    if (!early || !late) return 0;
    return (measure(late.report) - measure(early.report)) / (late.at - early.at);
  }
}

/** Bytes for people. */
export function megabytes(bytes: number): string {
  return `${(bytes / MEGABYTE).toFixed(0)} MB`;
}
