import { describe, expect, it } from "vitest";
import { CliError } from "../errors.ts";
import { type OpenedReins, ReinsOpener } from "./reins-opener.ts";

type Open = (report: (error: unknown) => void) => Promise<OpenedReins>;

/** An opener whose harness the test opens, or fails to, with a clock of its own. */
function openerOf(...openings: Open[]) {
  const reported: string[] = [];
  const state = { now: 0, opened: 0 };
  const log = { error: (_: unknown, message: string) => void reported.push(message) };
  const opener = new ReinsOpener({
    open: (report) => {
      state.opened += 1;
      return openings.shift()?.(report) ?? Promise.reject(new Error("opened too often"));
    },
    // The log of pino has more ways to be called than are used.
    log: log as never,
    now: () => state.now,
  });
  return { opener, reported, state };
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
    const { opener, state } = openerOf(() => promise);
    opener.start();
    const came = [opener.harness(), opener.harness()];
    resolve(opened);
    expect(await Promise.all(came)).toEqual([opened.harness, opened.harness]);
    await opener.close();
    expect([calls, state.opened]).toEqual([["close"], 1]);
  });

  it("reports why opening failed, and retries later but not at every call", async () => {
    const { open, opened } = port("home");
    const { opener, reported, state } = openerOf(
      () => Promise.reject(new Error("another process writes")),
      open,
    );
    opener.start();
    for (let turn = 0; turn < 3; turn += 1)
      await expect(opener.harness()).rejects.toThrow("another process writes");
    expect(state.opened).toBe(1);
    state.now = 1_000;
    expect(await opener.harness()).toBe(opened.harness);
    expect(reported).toEqual(["the home cannot be opened, so nothing is allowed"]);
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
    const { opener, state } = openerOf(opening(first.opened), opening(second.opened));
    await opener.harness();
    reports[0]?.(new Error("the disk broke"));
    await new Promise(setImmediate);
    state.now = 1_000;
    expect(await opener.harness()).toBe(second.opened.harness);
    reports[1]?.(new Error("the disk is full"));
    await new Promise(setImmediate);
    state.now = 2_000;
    expect(await opener.harness()).toBe(second.opened.harness);
    expect(state.opened).toBe(2);
  });

  it("rejects a ledger that was changed", async () => {
    const changed = new CliError("rolled back", { next: "look" });
    const { opener, reported } = openerOf(() => Promise.reject(changed));
    opener.start();
    await expect(opener.refused).rejects.toBe(changed);
    await expect(opener.harness()).rejects.toBe(changed);
    expect(reported).toEqual([]);
    await opener.close();
  });

  it("closes even if the harness never opened or fails to close", async () => {
    await openerOf().opener.close();
    const { open } = port("home", { close: () => Promise.reject(new Error("no")) });
    const { opener, reported } = openerOf(open);
    opener.start();
    await opener.close();
    expect(reported).toEqual(["the ledger could not be closed"]);
  });
});
