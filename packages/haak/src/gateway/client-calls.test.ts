import { describe, expect, test } from "vitest";
import { ClientCalls } from "./turn.ts";

/** Calls with a manual clock. */
function calls() {
  const timers = new Set<() => void>();
  const state = { waits: 0 };
  const clock = {
    after(_: number, run: () => void) {
      timers.add(run);
      return () => void timers.delete(run);
    },
  };
  const made = new ClientCalls(clock, () => {
    state.waits += 1;
  });
  const told = (id: string, name: string) => made.observe({ type: "tool_call", id, name, input: {} });
  return { made, told, state, timers };
}

describe("tool calls that the client runs", () => {
  test("wait for the client as soon as it has their ids, in either order", async () => {
    const { made, told, state } = calls();
    const { signal } = new AbortController();
    const first = made.call("bash", signal);
    expect([made.isWaiting, state.waits]).toEqual([false, 0]);
    told("c1", "bash");
    expect([made.isWaiting, state.waits]).toEqual([true, 1]);
    expect(made.answer([{ id: "c1", text: "a.txt", isError: false }])).toEqual([]);
    expect(await first).toEqual({ text: "a.txt", isError: false });
    told("c2", "fetch");
    const second = made.call("fetch", signal);
    expect(made.answer([{ id: "c2", text: "no", isError: true }])).toEqual([]);
    expect(await second).toEqual({ text: "no", isError: true });
    expect(made.isWaiting).toBe(false);
  });

  test("are paired by id if the tool is the same; unexpected results are returned", async () => {
    const { made, told } = calls();
    const { signal } = new AbortController();
    told("c1", "bash");
    told("c2", "bash");
    const both = [made.call("bash", signal), made.call("bash", signal)];
    const stray = { id: "c9", text: "?", isError: false };
    expect(
      made.answer([
        { id: "c2", text: "two", isError: false },
        { id: "c1", text: "one", isError: false },
        stray,
      ]),
    ).toEqual([stray]);
    expect((await Promise.all(both)).map(({ text }) => text)).toEqual(["one", "two"]);
  });

  test("fail when the turn is cancelled or the client times out", async () => {
    const { made, told, timers } = calls();
    const turn = new AbortController();
    told("c1", "bash");
    const cancelled = made.call("bash", turn.signal);
    turn.abort();
    expect(await cancelled).toEqual({ text: "the turn was cancelled", isError: true });
    const late = made.call("bash", new AbortController().signal);
    for (const run of timers) run();
    expect(await late).toMatchObject({ isError: true, text: expect.stringContaining("in time") });
    await expect(made.call("bash", turn.signal)).rejects.toThrow();
    expect(timers.size).toBe(0);
  });
});
