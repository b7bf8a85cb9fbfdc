import { setImmediate as nextTick } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { type JsonObject, Peer, type PeerHandlers, RpcError } from "./json-rpc.ts";

/** A peer with a scripted other side. */
function openPeer(
  request: PeerHandlers["request"] = async () => ({}),
  deliver: (message: JsonObject) => Promise<void> = async () => undefined,
) {
  const sent: JsonObject[] = [];
  const faults: string[] = [];
  const notified: unknown[] = [];
  const closed = Promise.withResolvers<Error>();
  let listener: (message: JsonObject) => void | Promise<void> = () => undefined;
  const channel = {
    send: (message: JsonObject) => {
      sent.push(message);
      return deliver(message);
    },
    onMessage: (given: typeof listener) => {
      listener = given;
    },
    closed: closed.promise,
  };
  const peer = new Peer(channel, {
    request,
    notification: (method, params) => void notified.push({ method, params }),
    fault: (reason) => void faults.push(reason),
  });
  const receive = (message: JsonObject) => listener({ jsonrpc: "2.0", ...message });
  return { peer, sent, faults, notified, receive, close: closed.resolve };
}

describe("a request to the other side", () => {
  test("resolves or rejects with the response of its id", async () => {
    const { peer, sent, receive } = openPeer();
    const [first, second] = [peer.request("a", {}), peer.request("b", {})];
    expect(sent).toMatchObject([
      { id: 1, method: "a" },
      { id: 2, method: "b" },
    ]);
    void receive({ id: 2, result: "two" });
    void receive({ id: 1, error: { code: -32602, message: "bad", data: 7 } });
    expect(await second).toBe("two");
    await expect(first).rejects.toMatchObject({ code: -32602, message: "bad", data: 7 });
  });

  test("reports its result before the next message is handled", async () => {
    const { peer, notified, receive } = openPeer();
    const asked = peer.request("session/new", {}, { answered: (result) => void notified.push(result) });
    await nextTick();
    void receive({ id: 1, result: "one" });
    void receive({ method: "session/update", params: { n: 2 } });
    expect(notified).toEqual(["one", { method: "session/update", params: { n: 2 } }]);
    expect(await asked).toBe("one");
  });

  test("sends a cancellation when its signal aborts, and settles with the response that follows", async () => {
    const { peer, sent, receive } = openPeer();
    const abort = new AbortController();
    const asked = peer.request("a", {}, { signal: abort.signal });
    abort.abort(new Error("enough"));
    expect(sent.at(-1)).toMatchObject({ method: "$/cancel_request", params: { requestId: 1 } });
    void receive({ id: 1, result: "late" });
    expect(await asked).toBe("late");
  });

  test("rejects when the channel closes or a message cannot be sent", async () => {
    const { peer, close } = openPeer();
    const asked = peer.request("a", {});
    close(new Error("the agent has ended"));
    await expect(asked).rejects.toThrow("the agent has ended");
    expect(peer.signal.aborted).toBe(true);
    await expect(peer.request("b", {})).rejects.toThrow("the agent has ended");
    const other = openPeer(undefined, () => Promise.reject(new Error("the pipe is broken")));
    await expect(other.peer.request("a", {})).rejects.toThrow("the pipe is broken");
  });

  test("rejects once when the channel closes before the request is written", async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => void unhandled.push(reason);
    process.on("unhandledRejection", note);
    onTestFinished(() => void process.off("unhandledRejection", note));
    const sending = Promise.withResolvers<void>();
    const { peer, close } = openPeer(undefined, () => sending.promise);
    const asked = expect(peer.request("session/prompt", {})).rejects.toThrow("the agent has ended");
    close(new Error("the agent has ended"));
    await asked;
    sending.reject(new Error("the pipe is broken"));
    await nextTick();
    expect(unhandled).toEqual([]);
  });
});

describe("a request from the other side", () => {
  test("is answered with its own id", async () => {
    const { receive, sent } = openPeer(async (method) => {
      if (method === "bad") throw new RpcError(-32000, "no", { why: 1 });
      if (method === "worse") throw new TypeError("a bug");
      return undefined;
    });
    for (const [index, method] of ["good", "bad", "worse"].entries())
      void receive({ id: `id-${index}`, method });
    await expect.poll(() => sent).toHaveLength(3);
    const error = { code: -32000, message: "no", data: { why: 1 } };
    expect(sent).toContainEqual({ jsonrpc: "2.0", id: "id-0", result: null });
    expect(sent).toContainEqual({ jsonrpc: "2.0", id: "id-1", error });
    expect(sent).toContainEqual({ jsonrpc: "2.0", id: "id-2", error: { code: -32603, message: "a bug" } });
  });

  test("can be cancelled and does not block others", async () => {
    const { receive, sent } = openPeer(
      (method, _, { signal }) =>
        new Promise((resolve, reject) => {
          if (method === "quick") resolve("done");
          signal.addEventListener("abort", () => reject(signal.reason));
        }),
    );
    void receive({ id: 1, method: "slow" });
    void receive({ id: 2, method: "quick" });
    await expect.poll(() => sent).toHaveLength(1);
    void receive({ method: "$/cancel_request", params: { requestId: 1 } });
    await expect.poll(() => sent.at(-1)).toMatchObject({ id: 1, error: { code: -32800 } });
  });
});

test("malformed messages are answered with an error and reported, unknown methods reach the handler", () => {
  const { receive, sent, faults, notified } = openPeer();
  void receive({ id: 3 });
  void receive({ id: { strange: true }, method: "x" });
  void receive({ id: 9, result: {} });
  void receive({ method: "some/notification" });
  expect(sent).toMatchObject([
    { id: 3, error: { code: -32600 } },
    { id: null, error: { code: -32600 } },
  ]);
  expect(faults).toHaveLength(3);
  expect(notified).toEqual([{ method: "some/notification", params: {} }]);
});
