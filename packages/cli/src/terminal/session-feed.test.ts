import type { ConversationEvent } from "@reins/sdk";
import { describe, expect, it } from "vitest";
import { beginOf, continuesAt, followSession } from "./session-feed.ts";

describe("the place in a history", () => {
  it.each([
    [["a", "b", "c"], ["b"], 2],
    [["a", "b", "a", "b", "c"], ["a", "b"], 4],
    [["a", "b"], [], 0],
    [["a", "b"], ["x"], 2],
    [["b", "c"], ["a", "b"], 1],
  ])("of %j after %j is %i", (list, seen, place) => {
    expect(continuesAt(list, seen)).toBe(place);
  });

  it.each([
    [["a", "b", "c"], ["b", "c"], 1],
    [["a", "b", "c"], ["c", "d"], 2],
    [["a", "b"], [], 2],
    [["a", "b"], ["x"], 2],
  ])("of %j at which %j begins is %i", (list, other, place) => {
    expect(beginOf(list, other)).toBe(place);
  });
});

const said = (text: string): ConversationEvent => ({ type: "text", text, update: { text } });

describe("a session that is followed", () => {
  it("passes on each event once: the past, what came while it was read, and the rest", async () => {
    const taken: string[] = [];
    const past: string[][] = [];
    const read = Promise.withResolvers<void>();
    const session = {
      async *events() {
        yield said("b");
        yield said("c");
        read.resolve();
        await new Promise((resolve) => setImmediate(resolve));
        yield said("d");
        yield said("b");
      },
      async *history() {
        await read.promise;
        for (const text of ["a", "b", "c", "d"]) yield said(text);
      },
    };
    await followSession({
      ...{ session, signal: new AbortController().signal, wait: async () => undefined },
      past: (events) => void past.push(events.map(textOf)),
      take: (event) => void taken.push(textOf(event)),
    });
    expect(past).toEqual([["a", "b", "c", "d"]]);
    expect(taken).toEqual(["b"]);
  });

  it("continues after the last event when the subscription breaks", async () => {
    const taken: string[] = [];
    const stop = new AbortController();
    let subscriptions = 0;
    const session = {
      async *events() {
        subscriptions += 1;
        if (subscriptions === 1) {
          yield said("b");
          throw new Error("broken");
        }
        yield said("d");
        while (!taken.includes("d")) await new Promise((resolve) => setImmediate(resolve));
        stop.abort();
      },
      async *history() {
        await new Promise((resolve) => setImmediate(resolve));
        for (const text of subscriptions === 1 ? ["a", "b"] : ["a", "b", "c"]) yield said(text);
      },
    };
    await followSession({
      ...{ session, signal: stop.signal, wait: async () => undefined },
      past: () => undefined,
      take: (event) => void taken.push(textOf(event)),
    });
    expect(taken).toEqual(["c", "d"]);
  });
});

function textOf(event: ConversationEvent): string {
  return "text" in event ? event.text : event.type;
}
