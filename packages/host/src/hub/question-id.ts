import type { RequestId } from "@reins/acp";

const PATTERN = /^reins-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** The id under which a question goes to clients: the same for all of them, and after they come back. */
export function questionId(key: string): string {
  return `reins-${key}`;
}

/** The question that an id stands for, if it is one of ours. */
export function questionIn(id: RequestId): string | undefined {
  return typeof id === "string" ? PATTERN.exec(id)?.[1] : undefined;
}

/** How many settled questions are remembered, so that a late answer is told from one to nothing. */
const MOST_SETTLED = 10_000;

/** Where a question was asked. */
export interface AskedIn {
  readonly session: string;
  readonly tenant: string;
}

/** The questions of all sessions: those that wait, by who asks them, and where those were asked that were settled lately. */
export class AskedQuestions<Asker extends AskedIn> {
  readonly #waiting = new Map<string, Asker>();
  readonly #settled = new Map<string, AskedIn>();

  /** Who asks one that waits. */
  get(key: string): Asker | undefined {
    return this.#waiting.get(key);
  }

  set(key: string, asker: Asker): void {
    this.#waiting.set(key, asker);
  }

  settle(key: string, { session, tenant }: AskedIn): void {
    this.#waiting.delete(key);
    this.#settled.set(key, { session, tenant });
    const [oldest] = this.#settled.keys();
    if (this.#settled.size > MOST_SETTLED && oldest !== undefined) this.#settled.delete(oldest);
  }

  /** Where a question was asked, also one that was settled. */
  askedIn(key: string): AskedIn | undefined {
    return this.#waiting.get(key) ?? this.#settled.get(key);
  }
}
