import { expect, test } from "vitest";
import { Inbox } from "./inbox.ts";

const response = (id: unknown) => JSON.stringify({ jsonrpc: "2.0", id, result: {} });

test("gives every answer to whoever waits for its id, in any order", async () => {
  const inbox = new Inbox();
  const waits = [inbox.next("a", 1000), inbox.next(7, 1000)];
  inbox.deliver(response(7));
  inbox.deliver(response("a"));
  expect(await Promise.all(waits)).toEqual([response("a"), response(7)]);
});

test("keeps answers nobody asked for apart from what is no answer", () => {
  const inbox = new Inbox();
  inbox.deliver(response("stray"));
  inbox.deliver("listening on port 80");
  inbox.deliver('{"jsonrpc":"2.0","id":"x","method":"call/me","params":{}}');
  expect(inbox.unclaimed()).toEqual([response("stray")]);
  expect(inbox.unclaimed()).toEqual([]);
  expect(inbox.noise).toHaveLength(2);
});

test("whoever waits for anything gets what nobody else waits for", async () => {
  const inbox = new Inbox();
  const anything = inbox.next(undefined, 1000);
  const known = inbox.next("known", 1000);
  inbox.deliver(response("known"));
  inbox.deliver(response(null));
  expect(await Promise.all([known, anything])).toEqual([response("known"), response(null)]);
});

test("nobody waits longer than told, or after the end", async () => {
  const inbox = new Inbox();
  expect(await inbox.next("a", 1)).toBeUndefined();
  const wait = inbox.next("a", 60_000);
  inbox.end("the harness left");
  expect(await wait).toBeUndefined();
  expect(await inbox.next("a", 60_000)).toBeUndefined();
  expect(inbox.ended).toBe("the harness left");
});
