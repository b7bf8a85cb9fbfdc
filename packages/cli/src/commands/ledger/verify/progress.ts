import type { Progress } from "@reins/verify";

/** Short work needs no progress. */
const QUIET_MS = 1_000;
const EVERY_MS = 100;

/** The part of a terminal that progress is shown on. */
interface ProgressScreen {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Shows on a terminal how far a verification has come, once it takes long. */
export class ProgressLine {
  readonly #screen: ProgressScreen;
  readonly #now: () => number;
  #next: number;
  #shown = false;

  constructor(screen: ProgressScreen, now: () => number) {
    this.#screen = screen;
    this.#now = now;
    this.#next = now() + QUIET_MS;
  }

  /** Takes how far it is. */
  update({ entries, total }: Progress): void {
    if (!this.#screen.isTTY || this.#now() < this.#next) return;
    this.#next = this.#now() + EVERY_MS;
    const [of, share] =
      total === undefined ? ["", ""] : [` of ${count(total)}`, ` (${percent(entries, total)} %)`];
    this.#screen.write(`\r\u001b[Kverified ${count(entries)}${of} entries${share}`);
    this.#shown = true;
  }

  /** Takes the line away again. */
  clear(): void {
    if (this.#shown) this.#screen.write("\r\u001b[K");
    this.#shown = false;
  }
}

function percent(entries: number, total: number): number {
  return total === 0 ? 100 : Math.min(100, Math.floor((100 * entries) / total));
}

function count(number: number): string {
  return number.toLocaleString("en-US");
}
