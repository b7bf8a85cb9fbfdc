import type { Approvals, Harness } from "@reins/supervisor";
import { eventText } from "../streams/event-stream.ts";

type Change = Awaited<ReturnType<Approvals["changes"]>>[number];

/** A change as it goes over the wire. */
interface Told {
  readonly seq: number;
  readonly tenant: string;
  readonly text: string;
}

/** What comes after a position, and where that ends. */
export interface Following {
  readonly texts: readonly string[];
  readonly position: number;
}

const PAGE = 100;
const MOST_TOLD = 256;
const MOST_CHARACTERS = 4 * 1024 * 1024;

/**
 * The newest changes of approvals, put into words once for all who listen. Who is further behind than this reaches is
 * served from the disk, at its own pace.
 */
export class ApprovalTail {
  static readonly #tails = new WeakMap<Harness, ApprovalTail>();
  readonly #approvals: Approvals;
  readonly #listeners = new Set<{ readonly tenant: string; readonly ring: () => void }>();
  #told: Told[] = [];
  #characters = 0;
  /** Every change after this one, and up to the last, is here. */
  #floor: number | undefined;
  #last = 0;

  private constructor(approvals: Approvals) {
    this.#approvals = approvals;
    approvals.subscribe((change) => this.#take(change));
  }

  /** The tail of a harness; there is one. */
  static of(harness: Harness): ApprovalTail {
    const tail = ApprovalTail.#tails.get(harness) ?? new ApprovalTail(harness.approvals);
    ApprovalTail.#tails.set(harness, tail);
    return tail;
  }

  /** Rings at every change of a tenant; the returned function ends that. */
  listen(tenant: string, ring: () => void): () => void {
    const listener = { tenant, ring };
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Some of what a tenant has not seen after a position; none when it has seen all. */
  async after(position: number, tenant: string): Promise<Following> {
    if (this.#floor !== undefined && position >= this.#floor) {
      const told = this.#told.filter((each) => each.seq > position && each.tenant === tenant);
      return { texts: told.map(({ text }) => text), position: Math.max(position, this.#last) };
    }
    const last = this.#last;
    const changes = await this.#approvals.changes({ after: position, limit: PAGE, tenant });
    const end = changes.at(-1)?.seq ?? Math.max(position, last);
    return { texts: changes.map(asText), position: end };
  }

  #take(change: Change): void {
    const { seq, approval } = change;
    this.#floor ??= seq - 1;
    this.#last = seq;
    this.#keep({ seq, tenant: approval.tenant, text: asText(change) });
    for (const { tenant, ring } of this.#listeners) if (tenant === approval.tenant) ring();
  }

  #keep(told: Told): void {
    this.#told.push(told);
    this.#characters += told.text.length;
    while (this.#told.length > MOST_TOLD || this.#characters > MOST_CHARACTERS) {
      const oldest = this.#told.shift();
      if (!oldest) return;
      this.#characters -= oldest.text.length;
      this.#floor = oldest.seq;
    }
  }
}

function asText(change: Change): string {
  return eventText("approval", change.seq, change);
}
