import { describe, expect, test } from "vitest";
import type { Item } from "../../acp/conversation/conversation.ts";
import { originsOf, rowsOf } from "./rows.ts";

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

describe("the rows of a conversation", () => {
  const message = (from: "user" | "agent", text: string): Item => ({
    kind: "message",
    from,
    text,
    name: undefined,
    said: undefined,
  });

  test("split a long message of the agent, and keep the user's as it was written", () => {
    const rows = rowsOf([message("agent", "one\n\ntwo"), message("user", "one\n\ntwo")]);
    expect(rows.map((row) => row.kind === "text" && [row.from, row.text, row.isFirst])).toEqual([
      ["agent", "one", true],
      ["agent", "two", false],
      ["user", "one\n\ntwo", true],
    ]);
  });

  test("have unique keys, also across the sessions behind a fork", () => {
    const items = () => [message("user", "a"), note("b"), message("agent", "c\n\nd")];
    const rows = rowsOf(items(), [
      { session: "x", items: items() },
      { session: "y", items: items() },
    ]);
    expect(new Set(rows.map(({ key }) => key)).size).toBe(rows.length);
    expect(rows.filter(({ kind }) => kind === "fork").map(({ key }) => key)).toEqual(["x fork", "y fork"]);
  });

  test("are the same objects for items that did not change", () => {
    const [first, second] = [message("user", "a"), message("agent", "b")];
    const before = rowsOf([first, second]);
    const after = rowsOf([first, message("agent", "b and more")]);
    expect(after[0]).toBe(before[0]);
    expect(after[1]).not.toBe(before[1]);
  });
});
