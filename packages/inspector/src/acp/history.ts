import { z } from "zod";
import { type Item, NOTHING_SAID } from "./conversation/conversation.ts";
import { withNote, withUpdates } from "./conversation/reduce.ts";

const Page = z.looseObject({
  updates: z.array(z.looseObject({ sessionUpdate: z.string() })),
  next: z.number().nullable(),
});

/** More pages than this are not fetched of one session. */
const MOST_PAGES = 100;

/** What was said in a session up to a place in the log, or all of it, as `ask` gives it page by page. */
export async function historyOf(
  ask: (params: object) => Promise<unknown>,
  sessionId: string,
  until: number | undefined,
): Promise<readonly Item[]> {
  let conversation = NOTHING_SAID;
  let after = 0;
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    const { updates, next } = Page.parse(await ask({ sessionId, after, until }));
    conversation = withUpdates(
      conversation,
      updates.map((update) => ({ update, at: undefined })),
    );
    if (next === null) return conversation.items;
    after = next;
  }
  return withNote(conversation, "warn", "There is more than is shown here.").items;
}
