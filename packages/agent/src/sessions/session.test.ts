import { expect, test } from "vitest";
import { VolatileSessionStore } from "../history/session-store.ts";
import { Session } from "./session.ts";

const HEADER = {
  id: "session_1",
  cwd: "/project",
  additionalDirectories: [],
  createdAt: "2026-01-01T00:00:00.000Z",
  updatedAt: "2026-01-01T00:00:00.000Z",
  mode: "default",
  model: "demo",
  thoughtLevel: "default",
};

test("a setting that changes while an entry is appended is kept", async () => {
  const store = new VolatileSessionStore();
  const session = new Session(store, { header: HEADER, entries: [] });
  const at = "2026-01-01T00:00:01.000Z";
  await Promise.all([
    session.set({ mode: "plan" }),
    session.keep({ kind: "user", turn: "1", at, parts: [] }),
    session.set({ thoughtLevel: "high" }),
  ]);
  const expected = { mode: "plan", thoughtLevel: "high", updatedAt: at };
  expect(session.header).toMatchObject(expected);
  expect((await store.read(HEADER.id))?.header).toMatchObject(expected);
});

test("a session whose change could not be stored stays unchanged and usable", async () => {
  const store = new VolatileSessionStore();
  const session = new Session(store, { header: HEADER, entries: [] });
  const append = store.append.bind(store);
  store.append = () => Promise.reject(new Error("the disk is full"));
  await expect(session.set({ mode: "plan" })).rejects.toThrow("the disk is full");
  store.append = append;
  await session.set({ model: "other" });
  expect(session.header).toMatchObject({ mode: "default", model: "other" });
});
