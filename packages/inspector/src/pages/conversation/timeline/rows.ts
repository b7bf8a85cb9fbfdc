import type { Item, Speaker } from "../../../acp/conversation/conversation.ts";
import type { ToolCall } from "../../../acp/conversation/tool-call.ts";
import type { Said } from "../../../acp/conversation/verdict.ts";
import type { Origin } from "../origins/origins.ts";
import { markdownBlocks } from "./markdown-blocks.ts";

/** One row of the timeline. A long message is several, so that none is large. */
export type Row =
  | {
      readonly kind: "text";
      readonly key: string;
      readonly from: Speaker;
      readonly text: string;
      /** Whether the message begins here. */
      readonly isFirst: boolean;
      readonly said: Said | undefined;
    }
  | { readonly kind: "tool"; readonly key: string; readonly call: ToolCall }
  | {
      readonly kind: "note";
      readonly key: string;
      readonly tone: "note" | "warn" | "bad";
      readonly text: string;
    }
  /** Here a session goes on from another. */
  | { readonly kind: "fork"; readonly key: string; readonly session: string };

/** The rows of items that were drawn before; an item that has not changed has the same rows. */
const known = new WeakMap<Item, readonly Row[]>();

/** A conversation as rows, after what was said in the sessions that it goes on from. */
export function rowsOf(items: readonly Item[], origins: readonly Origin[] = []): readonly Row[] {
  const before = origins.flatMap(({ session, items: said }): readonly Row[] => [
    ...rowsIn(said, `${session} `),
    { kind: "fork", key: `${session} fork`, session },
  ]);
  return [...before, ...rowsIn(items, "")];
}

function rowsIn(items: readonly Item[], prefix: string): readonly Row[] {
  const rows: Row[] = [];
  items.forEach((item, index) => {
    const made = known.get(item) ?? rowsOfItem(item, `${prefix}${index}`, prefix);
    known.set(item, made);
    for (const row of made) rows.push(row);
  });
  return rows;
}

function rowsOfItem(item: Item, place: string, prefix: string): readonly Row[] {
  if (item.kind === "tool") return [{ kind: "tool", key: `${prefix}tool ${item.call.id}`, call: item.call }];
  if (item.kind === "note") return [{ ...item, key: place }];
  const { from, said } = item;
  // What a person wrote is shown as it was written.
  const blocks = from === "user" ? [item.text] : markdownBlocks(item.text);
  return blocks.map((text, part) => ({
    kind: "text",
    key: `${place} ${part}`,
    from,
    text,
    isFirst: part === 0,
    said,
  }));
}
