import { expect, test } from "vitest";
import type { Item } from "../../acp/conversation/conversation.ts";
import { originsOf } from "./rows.ts";

const note = (text: string): Item => ({ kind: "note", tone: "note", text });

/** Sessions by id, each with what it was forked from. */
const source = (metadata: Record<string, object>) => ({
  session: async (id: string) => ({ metadata: { ...metadata[id] } }),
  history: async (id: string, until: number | undefined) => [note(`${id} until ${until}`)],
});

test("lists the sessions behind a fork of a fork, oldest first, each up to its fork", async () => {
  const origins = await originsOf(
    { metadata: { forked_from: "b", forked_after: 9 } },
    source({ b: { forked_from: "a", forked_after: 4 } }),
  );
  expect(origins).toEqual([
    { session: "a", items: [note("a until 4")] },
    { session: "b", items: [note("b until 9")] },
  ]);
});

test("finds no origin of a session that is no fork, and stops at a cycle", async () => {
  expect(await originsOf({ metadata: { title: "x" } }, source({}))).toEqual([]);
  const circle = source({ a: { forked_from: "b" }, b: { forked_from: "a" } });
  expect((await originsOf({ metadata: { forked_from: "a" } }, circle)).map(({ session }) => session)).toEqual(
    ["b", "a"],
  );
});
