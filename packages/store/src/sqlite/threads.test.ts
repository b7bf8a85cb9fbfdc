import SqliteDatabase from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { StoreError } from "../store-error.ts";
import { Inbox, Replies, type Request, translate } from "./threads.ts";

const write = { changes: [], durable: true };
const apply = (id: number, commits: number): Request => ({
  kind: "apply",
  id,
  writes: Array.from({ length: commits }, () => write),
});

/** The ids of what is taken, one thing after the other. */
function taken(maxBatch: number, requests: readonly Request[]): (number | number[])[] {
  const inbox = new Inbox(maxBatch);
  for (const request of requests) inbox.add(request);
  const found: (number | number[])[] = [];
  for (let next = inbox.take(); next; next = inbox.take())
    found.push("kind" in next ? next.id : next.map(({ id }) => id));
  expect(inbox.isEmpty).toBe(true);
  return found;
}

describe("the inbox of a thread", () => {
  it("takes all queued commits as one batch", () => {
    expect(taken(100, [apply(1, 10), apply(2, 10), apply(3, 10)])).toEqual([[1, 2, 3]]);
  });

  it("takes no batch that is too large, and each request as a whole", () => {
    expect(taken(25, [apply(1, 10), apply(2, 10), apply(3, 10), apply(4, 60), apply(5, 1)])).toEqual([
      [1, 2],
      [3],
      [4],
      [5],
    ]);
  });

  it("keeps commits before and after anything else", () => {
    expect(
      taken(100, [{ kind: "open", id: 1 }, apply(2, 1), apply(3, 1), { kind: "close", id: 4 }, apply(5, 1)]),
    ).toEqual([1, [2, 3], 4, [5]]);
  });
});

describe("the replies of a thread", () => {
  function replies() {
    const sent: unknown[] = [];
    return {
      sent,
      replies: new Replies({ postMessage: (message) => void sent.push(structuredClone(message)) }),
    };
  }

  it("say what cannot be sent, instead of it", () => {
    const { sent, replies: toTest } = replies();
    toTest.answer(1, { text: "fine" });
    toTest.answer(2, () => "not data");
    expect(sent).toMatchObject([
      { id: 1, outcome: { results: { text: "fine" } } },
      { id: 2, outcome: { error: { code: "invalid", message: expect.stringContaining("not data") } } },
    ]);
  });

  it("send the outcome of every commit but of the one that cannot be sent", () => {
    const { sent, replies: toTest } = replies();
    toTest.applied(1, [
      { results: [1] },
      { results: [() => 2] },
      { error: { code: "conflict", message: "no" } },
      { results: [undefined, undefined] },
    ]);
    expect(sent).toMatchObject([
      [
        1,
        [
          [1],
          { error: { code: "invalid", message: expect.stringContaining("was kept") } },
          { error: { code: "conflict", message: "no" } },
          2,
        ],
      ],
    ]);
  });
});

const sqlite = (code: string) => new SqliteDatabase.SqliteError("as SQLite says it", code);

describe("what an error of SQLite means", () => {
  it.each([
    ["SQLITE_FULL", "full", true],
    ["SQLITE_BUSY", "locked", true],
    ["SQLITE_BUSY_SNAPSHOT", "locked", true],
    ["SQLITE_CORRUPT_INDEX", "corrupt", false],
    ["SQLITE_NOTADB", "corrupt", false],
    ["SQLITE_IOERR_FSYNC", "io", false],
    ["SQLITE_IOERR_WRITE", "io", false],
    ["SQLITE_CANTOPEN", "io", false],
    ["SQLITE_READONLY_DBMOVED", "io", false],
    ["SQLITE_NOMEM", "io", false],
    ["SQLITE_CONSTRAINT_UNIQUE", "conflict", false],
    ["SQLITE_CONSTRAINT_PRIMARYKEY", "conflict", false],
    ["SQLITE_CONSTRAINT_FOREIGNKEY", "conflict", false],
    ["SQLITE_CONSTRAINT_CHECK", "invalid", false],
    ["SQLITE_CONSTRAINT_DATATYPE", "invalid", false],
    ["SQLITE_ERROR", "invalid", false],
  ])("%s is %s", (code, meaning, retryable) => {
    const cause = sqlite(code);
    const error = translate(cause);
    expect(error).toBeInstanceOf(StoreError);
    expect(error).toMatchObject({ code: meaning, retryable, cause });
    expect(error.message).toContain("as SQLite says it");
  });

  it("leaves the store's own errors alone, and keeps the message of any other", () => {
    const own = new StoreError("fenced", "too late");
    expect(translate(own)).toBe(own);
    expect(translate(new Error("not today"))).toMatchObject({ code: "invalid", message: "not today" });
    expect(translate("just so")).toMatchObject({ code: "invalid", message: "just so" });
  });
});
