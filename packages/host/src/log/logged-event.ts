import type { JsonObject } from "@reins/acp";
import type { Run } from "./tables.ts";

/** A message to the clients of a session. */
export interface NewEvent {
  readonly tenant: string;
  readonly session: string;
  /** A notification, or a request without an id: each client gets one of its own. */
  readonly message: JsonObject;
  /** For a request: what an answer to it names. */
  readonly request?: string | undefined;
  /** The connection that it is not for, because it came from there. */
  readonly except?: string | undefined;
}

/** A message at its position. */
export interface LoggedEvent extends NewEvent {
  /** The message as JSON, written once for all who get it. */
  readonly text?: string | undefined;
  /** Grows with every message of the tenant, across restarts. */
  readonly order: number;
  /** Grows with every start of the process that writes the log. */
  readonly epoch: number;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** The position up to which a reader has seen a log. */
export interface Cursor {
  readonly epoch: number;
  readonly order: number;
}

/** Messages that can no longer be had: some after `after`, up to and with `until`. */
export interface Gap {
  readonly after: number;
  readonly until: number;
  /** `retention`: older than the retention time. `lost`: sent, but gone in a power cut or with a damaged file. */
  readonly reason: "retention" | "lost";
}

/** When messages are written, and the last position of each tenant so far. */
interface Placing {
  readonly epoch: number;
  readonly at: number;
  readonly places: Map<string, number>;
}

/** Messages as runs, each at its position; advances the positions of the tenants. */
export function runsOf(batch: readonly NewEvent[], { epoch, at, places }: Placing): readonly Run[] {
  const runs: (Run & { readonly texts: string[] })[] = [];
  for (const event of batch) {
    const { tenant, session, request, except } = event;
    const text = JSON.stringify(event.message);
    const place = (places.get(tenant) ?? 0) + 1;
    places.set(tenant, place);
    const last = runs.at(-1);
    if (last && goesOn(last, event)) last.texts.push(text);
    else runs.push({ tenant, session, request, except, epoch, at, first: place, texts: [text] });
  }
  return runs;
}

/** Messages of a tenant that were written and are lost: those from one position to another, both included. */
export interface Hole {
  readonly tenant: string;
  readonly first: number;
  readonly last: number;
}

/** What a journal holds that is not in the store, and what it should hold and does not. */
export interface Recovered {
  readonly runs: readonly Run[];
  readonly holes: readonly Hole[];
}

/** Sorts out what a journal holds: those runs that come after the last places, which move on, and what is missing. */
export function stillToStore(
  { left, places }: { readonly left: readonly Run[]; readonly places: ReadonlyMap<string, number> },
  lasts: Map<string, number>,
): Recovered {
  const holes: Hole[] = [];
  const reach = (tenant: string, place: number) => {
    const last = lasts.get(tenant) ?? 0;
    if (place > last) holes.push({ tenant, first: last + 1, last: place });
    lasts.set(tenant, Math.max(last, place));
  };
  const runs = left.filter(({ tenant, first, texts }) => {
    if (first <= (lasts.get(tenant) ?? 0)) return false;
    reach(tenant, first - 1);
    lasts.set(tenant, first + texts.length - 1);
    return true;
  });
  for (const [tenant, place] of places) reach(tenant, place);
  return { runs, holes };
}

/** How many characters runs have. */
export function sizeOf(runs: readonly Run[]): number {
  let size = 0;
  for (const { texts } of runs) for (const text of texts) size += text.length;
  return size;
}

function goesOn(run: Run, { tenant, session, request, except }: NewEvent): boolean {
  return run.tenant === tenant && run.session === session && run.request === request && run.except === except;
}
