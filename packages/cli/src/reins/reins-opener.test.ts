import { describe, expect, it } from "vitest";
import { CliError } from "../errors.ts";
import { type OpenedReins, ReinsOpener } from "./reins-opener.ts";

type Open = (report: (error: unknown) => void) => Promise<OpenedReins>;

/** A door to harnesses that the test opens, or fails to, and a clock that it turns. */
function doorTo(...openings: Open[]) {
  const told: string[] = [];
  const state = { now: 0, opened: 0 };
  const log = { error: (_: unknown, message: string) => void told.push(message) };
  const door = new ReinsOpener({
    open: (report) => {
      state.opened += 1;
      return openings.shift()?.(report) ?? Promise.reject(new Error("opened too often"));
    },
    // The log of pino has more ways to be called than are used.
    log: log as never,
    now: () => state.now,
  });
  return { door, told, state };
}

/** A harness of which only the name matters. */
function port(name: string, overrides: Partial<OpenedReins> = {}) {
  const calls: string[] = [];
  const opened: OpenedReins = {
    harness: { home: name } as never,
    hosting: {} as never,
    runner: {} as never,
    close: async () => void calls.push("close"),
    abandonAfter: async () => false,
    ...overrides,
  };
  return { opened, calls, open: async () => opened };
}

describe("the opener of a harness", () => {
  it("makes callers wait until it is open", async () => {
    const { promise, resolve } = Promise.withResolvers<OpenedReins>();
    const { opened, calls } = port("home");
    const { door, state } = doorTo(() => promise);
    door.start();
    const came = [door.harness(), door.harness()];
    resolve(opened);
    expect(await Promise.all(came)).toEqual([opened.harness, opened.harness]);
    await door.close();
    expect([calls, state.opened]).toEqual([["close"], 1]);
  });

  it("reports why opening failed, and retries later but not at every call", async () => {
    const { open, opened } = port("home");
    const { door, told, state } = doorTo(() => Promise.reject(new Error("another process writes")), open);
    door.start();
    for (let turn = 0; turn < 3; turn += 1)
      await expect(door.harness()).rejects.toThrow("another process writes");
    expect(state.opened).toBe(1);
    state.now = 1_000;
    expect(await door.harness()).toBe(opened.harness);
    expect(told).toEqual(["the home cannot be opened, so nothing is allowed"]);
  });

  it("reopens after the store failed, and not after the disk was full", async () => {
    const reports: ((error: unknown) => void)[] = [];
    const first = port("first", { abandonAfter: async () => true });
    const second = port("second");
    const opening = (opened: OpenedReins): Open => {
      return async (report) => {
        reports.push(report);
        return opened;
      };
    };
    const { door, state } = doorTo(opening(first.opened), opening(second.opened));
    await door.harness();
    reports[0]?.(new Error("the disk broke"));
    await new Promise(setImmediate);
    state.now = 1_000;
    expect(await door.harness()).toBe(second.opened.harness);
    reports[1]?.(new Error("the disk is full"));
    await new Promise(setImmediate);
    state.now = 2_000;
    expect(await door.harness()).toBe(second.opened.harness);
    expect(state.opened).toBe(2);
  });

  it("rejects a ledger that was changed", async () => {
    const changed = new CliError("rolled back", { next: "look" });
    const { door, told } = doorTo(() => Promise.reject(changed));
    door.start();
    await expect(door.refused).rejects.toBe(changed);
    await expect(door.harness()).rejects.toBe(changed);
    expect(told).toEqual([]);
    await door.close();
  });

  it("closes even if the harness never opened or fails to close", async () => {
    await doorTo().door.close();
    const { open } = port("home", { close: () => Promise.reject(new Error("no")) });
    const { door, told } = doorTo(open);
    door.start();
    await door.close();
    expect(told).toEqual(["the ledger could not be closed"]);
  });
});
