import type { JsonObject } from "@reins/acp";
import { describe, expect, test } from "vitest";
import type { Session } from "../sessions/session.ts";
import { historyOf, join } from "./attach.ts";
import type { Connection } from "./connection.ts";

const update = (order: number, text: string) => ({
  order,
  message: { method: "session/update", params: { update: { text } } } as JsonObject,
});

describe("a page of the history of a session", () => {
  const events = [update(3, "one"), { order: 4, message: { method: "other" } }, update(5, "two")];
  const log = {
    written: async () => undefined,
    page: async (_: string, __: readonly string[], after: number) =>
      events.filter(({ order }) => order > after).slice(0, 2),
  };
  const page = (params: JsonObject) => historyOf(log as never, { tenant: "t", id: "s" }, params);

  test("has its updates, and the position after which there may be more", async () => {
    expect(await page({})).toEqual({ updates: [{ text: "one" }], next: 4 });
    expect(await page({ after: 4 })).toEqual({ updates: [{ text: "two" }], next: 5 });
    expect(await page({ after: 5 })).toEqual({ updates: [], next: null });
  });

  test("ends at a position", async () => {
    expect(await page({ after: 3, until: 4 })).toEqual({ updates: [], next: null });
    expect(await page({ after: 4, until: 9 })).toEqual({ updates: [{ text: "two" }], next: 5 });
  });

  test.each([{ after: -1 }, { until: 1.5 }, { after: "3" }])(
    "rejects %o, which is no position",
    async (params) => {
      await expect(page(params)).rejects.toThrow("a whole number");
    },
  );
});

describe("a client that joins a session", () => {
  const open = () => {
    const did: string[] = [];
    const following = new Map<string, number>();
    const connection = {
      id: "me",
      principal: { tenant: "t" },
      following,
      attach: ({ id }: Session, after: number) => {
        following.set(id, after);
        did.push(`attach ${id} after ${after}`);
      },
      send: async ({ method }: JsonObject) => void did.push(`send ${String(method)}`),
      ask: async (_: string, key: string) => void did.push(`ask ${key}`),
    };
    const question = (key: string, only?: string) => ({
      key,
      method: "m",
      params: {},
      without: new Set(),
      only,
    });
    const session = {
      id: "s",
      hub: { log: { written: async () => undefined, last: () => 7 } },
      lastOrder: 9,
      commands: { sessionUpdate: "available_commands_update" },
      clients: { questions: [question("all"), question("mine", "me"), question("other", "you")] },
    };
    return { did, connection: connection as unknown as Connection, session: session as unknown as Session };
  };

  test("follows it from its last message on, and gets its commands and the open questions", async () => {
    const { did, connection, session } = open();
    await join(connection, session);
    expect(did).toEqual(["attach s after 9", "send session/update", "ask all", "ask mine"]);
  });

  test("joins once, also when it does so twice at the same time", async () => {
    const { did, connection, session } = open();
    await Promise.all([join(connection, session), join(connection, session)]);
    await join(connection, session);
    expect(did.filter((step) => step.startsWith("attach"))).toHaveLength(1);
  });
});
