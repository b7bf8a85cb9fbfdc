import { ManualClock } from "@reins/kit/manual-clock";
import { describe, expect, test } from "vitest";
import { ask, eventOf } from "../../test/messages.ts";
import { EventType, isBatchable } from "../protocol/event.ts";
import type { Handlers } from "./handlers.ts";
import { AhpServer } from "./server.ts";

/** Blocks every event with its depth as the reason, and keeps what it saw. */
function recording(seen: number[] = []): Handlers {
  return {
    async event({ depth }) {
      seen.push(depth);
      return { decision: "block", reason: String(depth) };
    },
  };
}

const depths = (...depths: number[]) => depths.map((depth) => eventOf("pre_action", { depth }));
const blocks = (...reasons: string[]) => ({
  decisions: reasons.map((reason) => ({ decision: "block", reason })),
});

describe("a batch", () => {
  test("gets one decision for each event, in order", async () => {
    const { result } = await ask(new AhpServer(recording()), "ahp/batch", { events: depths(3, 1, 2) });
    expect(result).toEqual(blocks("3", "1", "2"));
  });

  test("is decided one event after the other", async () => {
    const log: string[] = [];
    const server = new AhpServer({
      async event({ depth }) {
        log.push(`start ${depth}`);
        await new Promise((resolve) => setImmediate(resolve));
        log.push(`end ${depth}`);
        return { decision: "allow" };
      },
    });
    await ask(server, "ahp/batch", { events: depths(1, 2) });
    expect(log).toEqual(["start 1", "end 1", "start 2", "end 2"]);
  });

  test("may be empty, also where nothing fits", async () => {
    const server = new AhpServer(recording(), { config: { batch_size: 0 } });
    expect((await ask(server, "ahp/batch", { events: [] })).result).toEqual({ decisions: [] });
  });

  test("may be as long as the limit and no longer", async () => {
    const seen: number[] = [];
    const server = new AhpServer(recording(seen), { config: { batch_size: 2 } });
    expect((await ask(server, "ahp/batch", { events: depths(1, 2) })).result).toEqual(blocks("1", "2"));
    const { error } = await ask(server, "ahp/batch", { events: depths(3, 4, 5) });
    expect(error?.message).toBe("Batch size 3 exceeds configured limit 2");
    expect(seen).toEqual([1, 2]);
  });

  test("may be of any length where no limit is set", async () => {
    const server = new AhpServer(recording(), { config: {} });
    const { result } = await ask(server, "ahp/batch", { events: depths(...Array(500).keys()) });
    expect(result).toMatchObject({ decisions: { length: 500 } });
  });
});

describe("an event that may not be in a batch", () => {
  test.each(EventType.options)("%s", async (type) => {
    const { result, error } = await ask(new AhpServer(recording()), "ahp/batch", { events: [eventOf(type)] });
    if (isBatchable(type)) expect(result).toEqual(blocks("0"));
    else expect(error?.data).toEqual({ reason: "not_batchable", index: 0 });
  });

  test("ends the batch; what preceded it has been decided, what follows it is not looked at", async () => {
    const seen: number[] = [];
    const events = [...depths(1), eventOf("idle"), ...depths(2)];
    const { error } = await ask(new AhpServer(recording(seen)), "ahp/batch", { events });
    expect(error?.data).toEqual({ reason: "not_batchable", index: 1 });
    expect(seen).toEqual([1]);
  });

  test("with params that cannot be read, ends the batch before anything is decided", async () => {
    const seen: number[] = [];
    const events = [...depths(1), { ...eventOf("pre_action"), event_type: "nope" }];
    const { error } = await ask(new AhpServer(recording(seen)), "ahp/batch", { events });
    expect(error?.data).toMatchObject({ reason: "invalid_params", path: ["events", 1, "event_type"] });
    expect(seen).toEqual([]);
  });
});

test("notification events in a batch go to the generic handler, not to that of notifications", async () => {
  const seen: string[] = [];
  const server = new AhpServer({
    event({ event_type }) {
      seen.push(event_type);
      return { decision: "allow" };
    },
    notification: () => expect.unreachable(),
  });
  const events = [eventOf("post_action"), eventOf("task_list")];
  expect((await ask(server, "ahp/batch", { events })).result).toEqual({
    decisions: [{ decision: "allow" }, { decision: "allow" }],
  });
  expect(seen).toEqual(["post_action", "task_list"]);
});

test("a handler that takes too long costs its event a block, and those after it, which share its time", async () => {
  const clock = new ManualClock();
  const server = new AhpServer(
    {
      event: ({ depth }) =>
        depth === 1 ? Promise.resolve({ decision: "allow" }) : new Promise<never>(() => {}),
    },
    { clock, deadlineMs: 100 },
  );
  const reply = ask(server, "ahp/batch", { events: depths(1, 2, 3) });
  await clock.advanceAndSettle(0);
  await clock.advanceAndSettle(100);
  const late = { decision: "block", reason: "Handler error: Timeout after 100ms" };
  const never = { decision: "block", reason: "Timeout after 100ms" };
  expect((await reply).result).toEqual({ decisions: [{ decision: "allow" }, late, never] });
});

describe("handlers that hang", () => {
  const batch = JSON.stringify({
    ...{ jsonrpc: "2.0", id: "1", method: "ahp/batch" },
    params: { events: Array.from({ length: 20 }, () => eventOf("pre_action")) },
  });
  const hanging = (deadlineMs: number) => {
    let calls = 0;
    const event = () => {
      calls += 1;
      return new Promise<never>(() => {});
    };
    return { server: new AhpServer({ event }, { deadlineMs }), calls: () => calls };
  };

  test("cost a batch the time of one, and each of its events a block", async () => {
    const { server, calls } = hanging(30);
    const { result } = JSON.parse((await server.handleMessage(batch)) ?? "");
    expect(result.decisions.map(({ decision }: { decision: string }) => decision)).toEqual(
      Array(20).fill("block"),
    );
    expect(calls()).toBe(1);
  });

  test("are not called any more once the sender has gone", async () => {
    const { server, calls } = hanging(50);
    const gone = new AbortController();
    const answer = server.handle(batch, { transport: "http" }, gone.signal);
    gone.abort();
    await answer;
    expect(calls()).toBe(1);
  });
});
