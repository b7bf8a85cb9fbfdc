import type { AhpEvent } from "@reins/ahp";
import { describe, expect, it } from "vitest";
import { CliError } from "../../../errors/cli-error.ts";
import { Recorder, type RecordPort } from "./recorder.ts";

const event: AhpEvent = {
  event_type: "pre_action",
  session_id: "s",
  agent_id: "a",
  timestamp: "t",
  depth: 0,
  payload: null,
};
const blocked = { verdict: "blocked", reason: "r" } as const;

/** A recorder over records that the test opens, or fails to, and a clock that it turns. */
function recorderOver(...openings: (() => Promise<RecordPort>)[]) {
  const told: string[] = [];
  const state = { now: 0, opened: 0 };
  const log = { error: (_: unknown, message: string) => void told.push(message) };
  const recorder = new Recorder({
    open: () => {
      state.opened += 1;
      return openings.shift()?.() ?? Promise.reject(new Error("opened too often"));
    },
    // The log of pino has more ways to be called than are used.
    log: log as never,
    now: () => state.now,
  });
  return { recorder, told, state };
}

function record(overrides: Partial<RecordPort> = {}) {
  const calls: string[] = [];
  const port: RecordPort = {
    verdict: async () => void calls.push("verdict"),
    session: async () => void calls.push("session"),
    close: async () => void calls.push("close"),
    abandonAfter: async () => false,
    ...overrides,
  };
  return { port, calls, open: async () => port };
}

describe("a recorder", () => {
  it("lets whoever comes first wait until the record is open", async () => {
    const { promise, resolve } = Promise.withResolvers<RecordPort>();
    const { port, calls } = record();
    const { recorder, state } = recorderOver(() => promise);
    recorder.start();
    const recorded = Promise.all([recorder.verdict(event, blocked), recorder.session(event)]);
    await new Promise(setImmediate);
    expect(calls).toEqual([]);
    resolve(port);
    await recorded;
    expect(calls).toEqual(["verdict", "session"]);
    await recorder.close();
    expect(calls.at(-1)).toBe("close");
    expect(state.opened).toBe(1);
  });

  it("says why nothing can be recorded, and tries again later but not at every turn", async () => {
    const locked = () => Promise.reject(new Error("another process writes"));
    const { open, calls } = record();
    const { recorder, told, state } = recorderOver(locked, open);
    recorder.start();
    for (let turn = 0; turn < 3; turn += 1)
      await expect(recorder.verdict(event, blocked)).rejects.toThrow("another process writes");
    expect(state.opened).toBe(1);
    state.now = 1_000;
    await recorder.verdict(event, blocked);
    expect(calls).toEqual(["verdict"]);
    expect(told).toEqual(["the ledger cannot be opened, so nothing can be recorded"]);
  });

  it("opens anew after the store broke, and stays with it after a disk was full", async () => {
    const failing = (abandons: boolean) =>
      record({
        verdict: () => Promise.reject(new Error("no")),
        abandonAfter: async () => abandons,
      });
    const { open } = record();
    const { recorder, state } = recorderOver(failing(true).open, failing(false).open, open);
    await expect(recorder.verdict(event, blocked)).rejects.toThrow("no");
    state.now = 1_000;
    await expect(recorder.verdict(event, blocked)).rejects.toThrow("no");
    state.now = 2_000;
    await expect(recorder.verdict(event, blocked)).rejects.toThrow("no");
    expect(state.opened).toBe(2);
  });

  it("refuses to go on over a ledger that was changed", async () => {
    const changed = new CliError("rolled back", { next: "look" });
    const { recorder, told } = recorderOver(() => Promise.reject(changed));
    recorder.start();
    await expect(recorder.refused).rejects.toBe(changed);
    await expect(recorder.verdict(event, blocked)).rejects.toBe(changed);
    expect(told).toEqual([]);
    await recorder.close();
  });

  it("closes though the record never opened, or fails to close", async () => {
    await recorderOver().recorder.close();
    const { open } = record({ close: () => Promise.reject(new Error("no")) });
    const { recorder, told } = recorderOver(open);
    recorder.start();
    await recorder.close();
    expect(told).toEqual(["the record could not be closed"]);
  });
});
