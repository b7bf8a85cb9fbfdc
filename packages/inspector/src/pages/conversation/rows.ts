import { type Session, sessionOperations } from "@reins/api";
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { z } from "zod";
import { acpClient } from "../../acp/acp-client.ts";
import type { Item, Speaker } from "../../acp/conversation/conversation.ts";
import type { Annotation, ToolCall } from "../../acp/conversation/tool-call.ts";
import { call } from "../../api/queries.ts";
import { markdownBlocks } from "../../design/markdown-blocks.ts";

/** One row of the timeline. A long message is split into several rows. */
export type Row =
  | {
      readonly kind: "text";
      readonly key: string;
      readonly from: Speaker;
      readonly text: string;
      /** Whether the message starts here. */
      readonly isFirst: boolean;
      readonly said: Annotation | undefined;
    }
  | { readonly kind: "tool"; readonly key: string; readonly call: ToolCall }
  | {
      readonly kind: "note";
      readonly key: string;
      readonly tone: "note" | "warn" | "bad";
      readonly text: string;
    }
  /** The start of a fork. */
  | { readonly kind: "fork"; readonly key: string; readonly session: string };

/** Cached rows by item; an unchanged item keeps its rows. */
const known = new WeakMap<Item, readonly Row[]>();

/** Converts a conversation to rows, after the history that it was forked from. */
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
  // A user's text is shown as written.
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

/** A session that another was forked from, with its history up to the fork. */
export interface Origin {
  readonly session: string;
  readonly items: readonly Item[];
}

interface OriginSource {
  session(id: string): Promise<Pick<Session, "metadata">>;
  history(id: string, until: number | undefined): Promise<readonly Item[]>;
}

const Forked = z.looseObject({ forked_from: z.string(), forked_after: z.number().optional() });

/** How many forks are followed back. */
const MOST_ORIGINS = 8;

/** The chain of sessions that a session was forked from, oldest first. */
export async function originsOf(
  { metadata }: Pick<Session, "metadata">,
  source: OriginSource,
): Promise<readonly Origin[]> {
  const origins: Origin[] = [];
  let fork = Forked.safeParse(metadata).data;
  while (fork && origins.length < MOST_ORIGINS) {
    const { forked_from: session, forked_after } = fork;
    if (origins.some((known) => known.session === session)) break;
    origins.unshift({ session, items: await source.history(session, forked_after) });
    fork = Forked.safeParse((await source.session(session)).metadata).data;
  }
  return origins;
}

function isForked({ metadata }: Pick<Session, "metadata">): boolean {
  return Forked.safeParse(metadata).success;
}

/** The history that a session was forked from; it never changes. */
export function useOrigins(session: Session): UseQueryResult<readonly Origin[]> {
  return useQuery({
    queryKey: ["origins", session.id],
    queryFn: ({ signal }) =>
      originsOf(session, {
        session: (id) => call(sessionOperations.getSession, { params: { id }, signal }),
        history: (id, until) => acpClient.history(id, until),
      }),
    enabled: isForked(session),
    staleTime: Number.POSITIVE_INFINITY,
  });
}
