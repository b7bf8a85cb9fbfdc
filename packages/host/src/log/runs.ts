import type { NewEvent } from "./logged-event.ts";
import type { Run } from "./tables.ts";

/** When messages are written, and the last place of each tenant so far. */
interface Placing {
  readonly epoch: number;
  readonly at: number;
  readonly places: Map<string, number>;
}

/** Messages as runs, each at its place; the places of the tenants move on. */
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

/** Those runs that come right after the last places, which move on; others are known already, or of another log. */
export function stillToStore(runs: readonly Run[], lasts: Map<string, number>): readonly Run[] {
  return runs.filter(({ tenant, first, texts }) => {
    if (first !== (lasts.get(tenant) ?? 0) + 1) return false;
    lasts.set(tenant, first + texts.length - 1);
    return true;
  });
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
