import { expect, test } from "vitest";
import type { HistoryEntry } from "../src/history/entry.ts";
import type { SessionHeader, SessionStore } from "../src/history/session-store.ts";

export function headerOf(id: string, more: Partial<SessionHeader> = {}): SessionHeader {
  const at = "2026-01-01T00:00:00.000Z";
  return {
    id,
    cwd: "/code",
    additionalDirectories: [],
    createdAt: at,
    updatedAt: at,
    mode: "default",
    model: "demo",
    thoughtLevel: "default",
    ...more,
  };
}

/** An entry with a user's text. */
export function saying(text: string, turn = "1"): HistoryEntry {
  return { kind: "user", turn, at: "2026-01-01T00:00:00.000Z", parts: [{ type: "text", text }] };
}

/** Tests of every session store. */
export function sessionStoreContract(open: () => Promise<SessionStore>): void {
  test("returns appended entries in order, with the last header", async () => {
    const store = await open();
    await store.append(headerOf("a"), [saying("one")]);
    await store.append(headerOf("a", { title: "Named" }), [saying("two"), saying("three")]);
    expect(await store.read("a")).toEqual({
      header: headerOf("a", { title: "Named" }),
      entries: [saying("one"), saying("two"), saying("three")],
    });
  });

  test("knows no session that was never created or was removed", async () => {
    const store = await open();
    expect(await store.read("a")).toBeUndefined();
    expect(await store.read("../a")).toBeUndefined();
    await store.append(headerOf("a"), [saying("one")]);
    await store.remove("a");
    await store.remove("a");
    expect(await store.read("a")).toBeUndefined();
    expect((await store.list({ limit: 10 })).sessions).toEqual([]);
  });

  test("lists the most recently used first, in pages, also by folder", async () => {
    const store = await open();
    for (const [index, id] of ["a", "b", "c", "d", "e"].entries()) {
      const cwd = id === "c" ? "/elsewhere" : "/code";
      await store.append(headerOf(id, { cwd, updatedAt: `2026-01-0${index + 1}T00:00:00.000Z` }), []);
    }
    const ids: string[][] = [];
    let cursor: string | undefined;
    do {
      const page = await store.list({ limit: 2, cursor });
      ids.push(page.sessions.map(({ id }) => id));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(ids).toEqual([["e", "d"], ["c", "b"], ["a"]]);
    const here = await store.list({ limit: 10, cwd: "/elsewhere" });
    expect(here.sessions.map(({ id }) => id)).toEqual(["c"]);
  });

  test("keeps the order of concurrent appends", async () => {
    const store = await open();
    const texts = Array.from({ length: 20 }, (_, index) => String(index));
    await Promise.all(texts.map((text) => store.append(headerOf("a"), [saying(text)])));
    expect((await store.read("a"))?.entries).toEqual(texts.map((text) => saying(text)));
  });
}
