import type { JsonObject } from "@reins/acp";
import { describe, expect, test } from "vitest";
import type { LoggedEvent } from "../log/logged-event.ts";
import type { OpenQuestion } from "../sessions/session-clients.ts";
import { channelOf, Feed, GAP, TURN } from "./feed.ts";

interface Subscriber {
  event(event: LoggedEvent): void | Promise<void>;
  gap(session: string, gap: object): void;
}

/** A feed of a client `me` on a log that the test plays. */
function open({
  session,
  followsTurns = false,
  capabilities = {},
  pages = [],
  pruned = 0,
}: {
  readonly session?: string | null;
  readonly followsTurns?: boolean;
  readonly capabilities?: JsonObject;
  readonly pages?: LoggedEvent[][];
  readonly pruned?: number;
} = {}) {
  const sent: JsonObject[] = [];
  const texts: (string | undefined)[] = [];
  const added: string[] = [];
  const questions = new Map<string, OpenQuestion>();
  let subscriber: Subscriber | undefined;
  const log = {
    subscribe: (given: Subscriber) => {
      subscriber = given;
      return {
        position: 5,
        add: (channel: string, after: number) => void added.push(`${channel}@${after}`),
        remove: (channel: string) => void added.push(`-${channel}`),
        close: () => void added.push("closed"),
        isBehind: () => false,
        reached: async () => undefined,
      };
    },
    written: async () => undefined,
    prunedUntil: async () => pruned,
    lastOf: () => 0,
    page: async () => pages.shift() ?? [],
  };
  const feed = new Feed({
    log: log as never,
    reader: { id: "me", principal: { id: "ada", tenant: "t" } as never, followsTurns, capabilities },
    outlet: {
      send: (message, _order, text) => {
        sent.push(message);
        texts.push(text);
      },
      failed: () => undefined,
    },
    from: { epoch: 1, order: 0 } as never,
    session,
    question: (key) => questions.get(key),
  });
  const ask = (key: string, more: Partial<OpenQuestion> = {}) => {
    const question = {
      key,
      method: "session/request_permission",
      params: { of: "all" },
      without: new Set<string>(),
    };
    questions.set(key, { ...question, ...more });
  };
  return {
    feed,
    sent,
    texts,
    added,
    ask,
    deliver: (given: LoggedEvent) => subscriber?.event(given),
    subscriber,
  };
}

const event = (message: JsonObject, more: Partial<LoggedEvent> = {}) =>
  ({ tenant: "t", session: "s", order: 1, epoch: 1, at: 0, message, ...more }) as LoggedEvent;

describe("a feed", () => {
  test("sends messages in their wire form, but not a client's own", () => {
    const { deliver, sent, texts } = open();
    deliver(event({ method: "a" }, { text: '{"method":"a"}' }));
    deliver(event({ method: "b" }, { except: "me" }));
    deliver(event({ method: "c" }, { except: "other" }));
    expect(sent).toEqual([
      { jsonrpc: "2.0", method: "a" },
      { jsonrpc: "2.0", method: "c" },
    ]);
    expect(texts).toEqual(['{"jsonrpc":"2.0","method":"a"}', undefined]);
  });

  test("sends turns to subscribers alone", () => {
    const [deaf, subscriber] = [open(), open({ followsTurns: true })];
    for (const { deliver } of [deaf, subscriber]) deliver(event({ method: TURN }));
    expect([deaf.sent.length, subscriber.sent.length]).toEqual([0, 1]);
  });

  test("puts a question once, as its client is asked it, and only while it is open", () => {
    const { feed, deliver, sent, ask } = open();
    ask("q", { asked: ({ principal }) => ({ of: principal.id }) });
    deliver(event({ method: "logged form" }, { request: "q" }));
    deliver(event({ method: "logged form" }, { request: "settled" }));
    feed.put("q");
    expect(sent).toEqual([
      { jsonrpc: "2.0", id: "reins-q", method: "session/request_permission", params: { of: "ada" } },
    ]);
  });

  test.each([
    ["is put to another client alone", { only: "other" }],
    ["was answered by its principal", { without: new Set(["ada"]) }],
    ["offers its principal no choice", { asked: () => undefined }],
    ["needs what its client does not offer", { method: "fs/read_text_file" }],
  ])("puts no question that %s", (_, more) => {
    const { feed, sent, ask } = open();
    ask("q", more);
    feed.put("q");
    expect(sent).toEqual([]);
  });

  test("covers one session, none, or all", () => {
    const covered = (session: string | null | undefined) =>
      ["s", "other", undefined].map((id) =>
        open({ ...(session !== undefined && { session }) }).feed.covers(id),
      );
    expect(covered(undefined)).toEqual([true, true, true]);
    expect(covered("s")).toEqual([true, false, false]);
    expect(covered(null)).toEqual([false, false, false]);
  });

  test("adds channels not before the position that it has reached", () => {
    const { feed, added } = open();
    feed.add("s", 2);
    feed.add("s", 9);
    feed.remove("s");
    feed.close();
    expect(added).toEqual(["s@5", "s@9", "-s", "closed"]);
    expect(feed.isClosed).toBe(true);
  });

  test("reports a gap of a session, and not one of the channels of connections", () => {
    const { feed, sent } = open();
    const gap = { after: 1, until: 3, reason: "retention" } as const;
    feed.gap(channelOf("me", "s"), gap);
    feed.gap("s", gap);
    expect(sent).toEqual([{ jsonrpc: "2.0", method: GAP, params: { sessionId: "s", ...gap } }]);
  });
});

describe("a replay", () => {
  test("sends everything that is stored, the client's own messages too, after the gap of what was pruned", async () => {
    const pages = [
      [
        event({ method: "own" }, { order: 3, except: "me" }),
        event({ method: "$/cancel_request" }, { order: 4 }),
      ],
      [event({ method: "late" }, { order: 5 })],
    ];
    const { feed, sent } = open({ pages, pruned: 2 });
    expect(await feed.replay({ id: "s", lastOrder: 5 })).toBe(5);
    expect(sent.map(({ method }) => method)).toEqual([GAP, "own", "late"]);
  });

  test("rejects when its stream closes before the end", async () => {
    const { feed } = open({ pages: [[event({ method: "a" })]] });
    feed.close();
    await expect(feed.replay({ id: "s", lastOrder: 1 })).rejects.toThrow("open it, then load again");
  });
});
