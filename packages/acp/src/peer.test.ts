import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import type { JsonObject } from "./json-rpc.ts";
import { Peer } from "./peer.ts";

/** A peer over a channel of which the test is the other side. */
function facing(send: (message: JsonObject) => Promise<void>) {
  const closed = Promise.withResolvers<Error>();
  const told: unknown[] = [];
  let say: (message: JsonObject) => void | Promise<void> = () => undefined;
  const peer = new Peer(
    {
      send,
      closed: closed.promise,
      onMessage: (listener) => {
        say = listener;
      },
    },
    {
      request: async () => ({}),
      notification: (_, params) => void told.push(params),
    },
  );
  return { peer, told, say: (message: JsonObject) => say(message), close: closed.resolve };
}

test("a request fails once, and at once, when the other side goes before it has taken it", async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  const sending = Promise.withResolvers<void>();
  const { peer, close } = facing(() => sending.promise);
  const asked = expect(peer.request("session/prompt", {})).rejects.toThrow("the agent has ended");
  close(new Error("the agent has ended"));
  await asked;
  sending.reject(new Error("the pipe is broken"));
  await nextTurn();
  expect(unhandled).toEqual([]);
});

test("a request reports its result before the next message is handled", async () => {
  const { peer, told, say } = facing(async () => undefined);
  const asked = peer.request("session/new", {}, { answered: (result) => void told.push(result) });
  await nextTurn();
  void say({ jsonrpc: "2.0", id: 1, result: "one" });
  void say({ jsonrpc: "2.0", method: "session/update", params: "two" });
  expect(told).toEqual(["one", "two"]);
  expect(await asked).toBe("one");
});
