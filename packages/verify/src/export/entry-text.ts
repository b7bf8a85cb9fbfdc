import type { InspectedEntry } from "../entry/inspect.ts";

/** The line of an entry as a ledger writes it: the content id in front of the canonical form of the rest. */
export function entryText(seq: string, cid: string, body: string): string {
  return `{"kind":"entry","seq":${seq},"entry":{"cid":${cid},${body.slice(1)}}`;
}

/** Whether a line is what a ledger would write for the entry read from it, so that nothing in it is there twice. */
export function isAsWritten(text: string, seq: number, { entry, content }: InspectedEntry): boolean {
  if (entry === undefined || content === undefined) return false;
  return text === entryText(`${seq}`, `"${entry.cid}"`, content.body);
}
