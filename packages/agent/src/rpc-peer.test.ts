import { type JsonObject, RpcError } from "@reins/acp";
import { describe, expect, test } from "vitest";
import { RpcPeer } from "./rpc-peer.ts";

/** A peer with a scripted other side. */
function conversation(
  request: (method: string, params: JsonObject, signal: AbortSignal) => Promise<unknown> = async () => ({}),
) {
  const sent: JsonObject[] = [];
  const faults: string[] = [];
  const notified: string[] = [];
  const gone = Promise.withResolvers<Error>();
  let listener: (message: JsonObject) => void | Promise<void> = () => {};
  let failing: Error | undefined;
  const rpc = new RpcPeer(
    {
      send: async (message) => {
        if (failing) throw failing;
        sent.push(message);
      },
      onMessage: (given) => {
        listener = given;
      },
      closed: gone.promise,
    },
    {
      request,
      notification: (method) => void notified.push(method),
      fault: (reason) => void faults.push(reason),
    },
  );
  const fail = (error: Error) => {
    failing = error;
  };
  return {
    rpc,
    sent,
    faults,
    notified,
    gone,
    fail,
    say: (message: JsonObject) => listener({ jsonrpc: "2.0", ...message }),
  };
}

const live = () => new AbortController().signal;

describe("a request to the other side", () => {
  test("resolves or rejects with the response of its id", async () => {
    const { rpc, sent, say } = conversation();
    const [first, second] = [rpc.request("a", {}, live()), rpc.request("b", {}, live())];
    expect(sent).toMatchObject([
      { id: 1, method: "a" },
      { id: 2, method: "b" },
    ]);
    say({ id: 2, result: "two" });
    say({ id: 1, error: { code: -32602, message: "bad", data: 7 } });
    expect(await second).toBe("two");
    await expect(first).rejects.toMatchObject({ code: -32602, message: "bad", data: 7 });
  });

  test("is cancelled when its signal aborts, and ignores a late response", async () => {
    const { rpc, sent, say } = conversation();
    const abort = new AbortController();
    const asked = rpc.request("a", {}, abort.signal);
    abort.abort(new Error("enough"));
    await expect(asked).rejects.toThrow("enough");
    expect(sent.at(-1)).toMatchObject({ method: "$/cancel_request", params: { requestId: 1 } });
    say({ id: 1, result: "late" });
  });

  test("rejects when the connection closes or a message cannot be sent", async () => {
    const { rpc, gone, fail } = conversation();
    const asked = rpc.request("a", {}, live());
    gone.resolve(new Error("it has gone"));
    await expect(asked).rejects.toThrow("it has gone");
    expect(rpc.signal.aborted).toBe(true);
    await expect(rpc.request("b", {}, live())).rejects.toThrow("it has gone");
    const other = conversation();
    other.fail(new Error("no way"));
    await expect(other.rpc.request("a", {}, live())).rejects.toThrow("no way");
    void fail;
  });
});

describe("a request from the other side", () => {
  test("is answered with its own id", async () => {
    const { say, sent } = conversation(async (method) => {
      if (method === "bad") throw new RpcError(-32000, "no", { why: 1 });
      if (method === "worse") throw new TypeError("a bug");
      return undefined;
    });
    for (const [index, method] of ["good", "bad", "worse"].entries()) say({ id: `id-${index}`, method });
    await expect.poll(() => sent).toHaveLength(3);
    expect(sent).toContainEqual({ jsonrpc: "2.0", id: "id-0", result: {} });
    expect(sent).toContainEqual({
      jsonrpc: "2.0",
      id: "id-1",
      error: { code: -32000, message: "no", data: { why: 1 } },
    });
    expect(sent).toContainEqual({ jsonrpc: "2.0", id: "id-2", error: { code: -32603, message: "a bug" } });
  });

  test("can be cancelled and does not block others", async () => {
    const { say, sent } = conversation(
      (method, _, signal) =>
        new Promise((resolve, reject) => {
          if (method === "quick") resolve("done");
          signal.addEventListener("abort", () => reject(signal.reason));
        }),
    );
    say({ id: 1, method: "slow" });
    say({ id: 2, method: "quick" });
    await expect.poll(() => sent).toHaveLength(1);
    say({ method: "$/cancel_request", params: { requestId: 1 } });
    await expect.poll(() => sent.at(-1)).toMatchObject({ id: 1, error: { code: -32800 } });
  });
});

test("malformed messages are answered with an error and reported, unknown methods reach the handler", () => {
  const { say, sent, faults, notified } = conversation();
  say({ id: 3 });
  say({ id: { strange: true }, method: "x" });
  say({ method: "some/notification" });
  expect(sent).toMatchObject([
    { id: 3, error: { code: -32600 } },
    { id: null, error: { code: -32600 } },
  ]);
  expect(faults).toHaveLength(2);
  expect(notified).toEqual(["some/notification"]);
});
