import type { Session } from "@reins/api";
import { z } from "zod";
import type { Item } from "../../../acp/conversation/conversation.ts";

/** A session that another goes on from, with what was said in it until then. */
export interface Origin {
  readonly session: string;
  readonly items: readonly Item[];
}

/** What the origins of a session are found with. */
export interface OriginSource {
  session(id: string): Promise<Pick<Session, "metadata">>;
  history(id: string, until: number | undefined): Promise<readonly Item[]>;
}

const Forked = z.looseObject({ forked_from: z.string(), forked_after: z.number().optional() });

/** A fork of a fork of a fork is followed back so far. */
const MOST_ORIGINS = 8;

/** The sessions that a session goes on from, the first one first. */
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

/** Whether a session goes on from another. */
export function isForked({ metadata }: Pick<Session, "metadata">): boolean {
  return Forked.safeParse(metadata).success;
}
