import { expect, test } from "vitest";
import { Inbox } from "./inbox.ts";

const response = (id: unknown) => JSON.stringify({ jsonrpc: "2.0", id, result: {} });

test("delivers each response to the call with its id, in any order", async () => {
  const inbox = new Inbox();
  const waits = [inbox.next("a", 1000), inbox.next(7, 1000)];
  inbox.deliver(response(7));
  inbox.deliver(response("a"));
  expect(await Promise.all(waits)).toEqual([response("a"), response(7)]);
});

test("keeps unclaimed responses apart from noise", () => {
  const inbox = new Inbox();
  inbox.deliver(response("stray"));
  inbox.deliver("listening on port 80");
  inbox.deliver('{"jsonrpc":"2.0","id":"x","method":"call/me","params":{}}');
  expect(inbox.unclaimed()).toEqual([response("stray")]);
  expect(inbox.unclaimed()).toEqual([]);
  expect(inbox.noise).toHaveLength(2);
});

test("a wait without an id gets the response that no other wait claims", async () => {
  const inbox = new Inbox();
  const anything = inbox.next(undefined, 1000);
  const known = inbox.next("known", 1000);
  inbox.deliver(response("known"));
  inbox.deliver(response(null));
  expect(await Promise.all([known, anything])).toEqual([response("known"), response(null)]);
});

test("a wait ends at its timeout and at the end of the stream", async () => {
  const inbox = new Inbox();
  expect(await inbox.next("a", 1)).toBeUndefined();
  const wait = inbox.next("a", 60_000);
  inbox.end("the harness left");
  expect(await wait).toBeUndefined();
  expect(await inbox.next("a", 60_000)).toBeUndefined();
  expect(inbox.ended).toBe("the harness left");
});
