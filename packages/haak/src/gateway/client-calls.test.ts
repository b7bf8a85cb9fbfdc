import { describe, expect, test } from "vitest";
import { ClientCalls } from "./client-calls.ts";

/** Calls with a clock that the test turns. */
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
  const told = (id: string, name: string) => made.saw({ type: "tool_call", id, name, input: {} });
  return { made, told, state, timers };
}

describe("calls that a client carries out", () => {
  test("wait for the client once it knows their ids, whichever comes first", async () => {
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

  test("of the same tool are told apart, and results nobody waits for are given back", async () => {
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

  test("end with the turn, and with the client's time", async () => {
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
