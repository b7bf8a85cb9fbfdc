import { ManualClock } from "@reins/kit/manual-clock";
import { describe, expect, test } from "vitest";
import { StreamTransport, type Wire, type WireEvents } from "./stream-transport.ts";

/** Connections made one after the other, each in the test's hand. */
function dialler(failures = 0) {
  const wires: { sent: string[]; events: WireEvents; closed: boolean; buffered: number }[] = [];
  let left = failures;
  const dial = async (events: WireEvents): Promise<Wire> => {
    if (wires.length > 0 && left-- > 0) throw new Error("refused");
    const wire = { sent: [] as string[], events, closed: false, buffered: 0 };
    wires.push(wire);
    return {
      send: (text) => wire.sent.push(text),
      get buffered() {
        return wire.buffered;
      },
      close: async () => {
        wire.closed = true;
      },
    };
  };
  return { wires, dial };
}

const reconnect = { firstMs: 100, mostMs: 1_000, attempts: 3 };
const patience = { timeoutMs: 10_000 };

async function open(failures = 0, settings: { reconnect?: typeof reconnect | undefined } = { reconnect }) {
  const clock = new ManualClock();
  const { wires, dial } = dialler(failures);
  const transport = await StreamTransport.open(dial, {
    clock,
    random: () => 1,
    reconnect: settings.reconnect,
  });
  return { clock, wires, transport };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

describe("a stream of answers", () => {
  test("finds its calls by id, in any order", async () => {
    const { transport, wires } = await open();
    const calls = [transport.request("a", "A", patience), transport.request("b", "B", patience)];
    await settle();
    expect(wires[0]?.sent).toEqual(["A", "B"]);
    wires[0]?.events.message('{"id":"b","result":2}');
    wires[0]?.events.message("a stray print");
    wires[0]?.events.message('{"id":"unknown"}');
    wires[0]?.events.message('{"id":"a","result":1}');
    const answers = await Promise.all(calls);
    expect(answers.map(({ value }) => value)).toEqual([
      { id: "a", result: 1 },
      { id: "b", result: 2 },
    ]);
  });

  test("ends a call when its time is over and forgets it", async () => {
    const { transport, clock } = await open();
    const call = transport.request("a", "A", { timeoutMs: 50 });
    call.catch(() => {});
    await clock.advanceAndSettle(50);
    await expect(call).rejects.toThrow("Timeout after 50ms");
    expect(clock.waiting).toBe(0);
  });

  test("ends a call when its caller gives up", async () => {
    const { transport, clock } = await open();
    const stop = new AbortController();
    const call = transport.request("a", "A", { ...patience, signal: stop.signal });
    await settle();
    stop.abort(new Error("enough"));
    await expect(call).rejects.toThrow("enough");
    expect(clock.waiting).toBe(0);
  });
});

describe("a broken connection", () => {
  test("fails what waits at once", async () => {
    const { transport, wires } = await open();
    const call = transport.request("a", "A", patience);
    await settle();
    wires[0]?.events.closed(new Error("reset"));
    await expect(call).rejects.toMatchObject({
      message: "Connection closed",
      code: "closed",
    });
  });

  test("is made anew after a while, greeting first", async () => {
    const { transport, wires, clock } = await open();
    transport.onReconnect(async (send) => void (await send("hello", "HELLO", patience)));
    wires[0]?.events.closed();
    const call = transport.request("a", "A", patience);
    await clock.advanceAndSettle(99);
    expect(wires).toHaveLength(1);
    await clock.advanceAndSettle(1);
    expect(wires[1]?.sent).toEqual(["HELLO"]);
    wires[1]?.events.message('{"id":"hello","result":{}}');
    await settle();
    expect(wires[1]?.sent).toEqual(["HELLO", "A"]);
    wires[1]?.events.message('{"id":"a","result":1}');
    expect((await call).value).toEqual({ id: "a", result: 1 });
  });

  test("comes back again and again", async () => {
    const { transport, wires, clock } = await open();
    for (let round = 1; round <= 3; round += 1) {
      wires.at(-1)?.events.closed();
      await clock.advanceAndSettle(100);
      expect(wires).toHaveLength(round + 1);
      const call = transport.request("a", "A", patience);
      await settle();
      wires.at(-1)?.events.message('{"id":"a","result":1}');
      await call;
    }
  });

  test("waits longer after each failure and gives up in the end", async () => {
    const { transport, wires, clock } = await open(3);
    wires[0]?.events.closed();
    const call = transport.request("a", "A", patience);
    call.catch(() => {});
    await clock.advanceAndSettle(100);
    await clock.advanceAndSettle(199);
    await clock.advanceAndSettle(1);
    await clock.advanceAndSettle(400);
    await expect(call).rejects.toThrow("Connection closed");
    await expect(transport.request("b", "B", patience)).rejects.toThrow("Connection closed");
  });

  test("is ended on this side too, and so is a new one that cannot be greeted", async () => {
    const { transport, wires, clock } = await open();
    transport.onReconnect(async (send) => void (await send("hello", "HELLO", { timeoutMs: 50 })));
    wires[0]?.events.closed();
    await clock.advanceAndSettle(100);
    await clock.advanceAndSettle(50);
    await clock.advanceAndSettle(200);
    expect(wires.map(({ closed }) => closed)).toEqual([true, true, false]);
  });

  test("is the end without reconnect", async () => {
    const { transport, wires } = await open(0, { reconnect: undefined });
    wires[0]?.events.closed();
    await expect(transport.request("a", "A", patience)).rejects.toThrow("Connection closed");
  });

  test("a call waits for the new one no longer than it may", async () => {
    const { transport, wires, clock } = await open();
    wires[0]?.events.closed();
    const call = transport.request("a", "A", { timeoutMs: 20 });
    call.catch(() => {});
    await clock.advanceAndSettle(20);
    await expect(call).rejects.toThrow("Timeout after 20ms");
  });
});

test("closing fails what waits, ends the connection and stops reconnecting", async () => {
  const { transport, wires, clock } = await open();
  const call = transport.request("a", "A", patience);
  await settle();
  const closing = transport.close();
  await expect(call).rejects.toThrow("Connection closed");
  await closing;
  await transport.close();
  expect(wires[0]?.closed).toBe(true);
  wires[0]?.events.closed();
  await clock.advanceAndSettle(60_000);
  expect(wires).toHaveLength(1);
  await expect(transport.request("b", "B", patience)).rejects.toThrow("Connection closed");
  expect(clock.waiting).toBe(0);
});

test.each(["succeeds", "fails"])(
  "closing waits for nothing but a connection being made, which %s",
  async (how) => {
    const clock = new ManualClock();
    const { wires, dial } = dialler();
    const dialled = Promise.withResolvers<void>();
    const slowly = async (events: WireEvents) => {
      if (wires.length > 0) await dialled.promise;
      return dial(events);
    };
    const transport = await StreamTransport.open(slowly, { clock, random: () => 1, reconnect });
    transport.onReconnect(async (send) => void (await send("hello", "HELLO", patience)));
    wires[0]?.events.closed();
    await clock.advanceAndSettle(100);
    const closing = transport.close();
    if (how === "succeeds") dialled.resolve();
    else dialled.reject(new Error("refused"));
    await closing;
    expect(wires.slice(1)).toEqual(
      how === "succeeds" ? [expect.objectContaining({ sent: [], closed: true })] : [],
    );
    expect(clock.waiting).toBe(0);
  },
);

test("no more waits for a harness that does not read than a bound", async () => {
  const { wires, transport } = await open();
  const [wire] = wires;
  if (!wire) throw new Error("not connected");
  const large = "x".repeat(20 * 1024 * 1024);
  await transport.notify(large, patience);
  wire.buffered = large.length;
  await expect(transport.notify("another", patience)).rejects.toThrow("the harness does not read");
  await expect(transport.request("1", "a request", patience)).rejects.toThrow("the harness does not read");
  expect(wire.sent).toEqual([large]);
  wire.buffered = 0;
  await transport.notify("again", patience);
  expect(wire.sent).toEqual([large, "again"]);
});
