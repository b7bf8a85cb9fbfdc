import { setImmediate } from "node:timers/promises";
import { ManualClock } from "@reins/kit/manual-clock";
import type { Store } from "@reins/store";
import { expect, test } from "vitest";
import { Connections } from "../src/connections/connections.ts";
import { agentsForAll } from "./fixtures/agents.ts";
import { Gate } from "./fixtures/gate.ts";

const home = agentsForAll();
const limits = {
  expiryMs: 86_400_000,
  restMs: 300_000,
  perPrincipal: 10,
  requestMs: 60_000,
  silenceMs: 60_000,
};

/** Connections of the home; `committing` is called for every commit. */
function connectionsWith(clock: ManualClock, committing: () => Promise<void> | void): Connections {
  const { hosting, harness } = home();
  const { store } = harness;
  const commit: Store["commit"] = async (...committed) => {
    const done = store.commit(...committed);
    await committing();
    return done;
  };
  const query: Store["query"] = (...asked) => store.query(...asked);
  const onError = (error: unknown) => {
    throw error;
  };
  return new Connections({ hosting, store: { commit, query }, clock, limits, onError });
}

test("a late write does not restore a removed connection", async () => {
  let meanwhile: () => void = () => undefined;
  const connections = connectionsWith(new ManualClock(), () => meanwhile());
  const principal = home().harness.identity.local();
  const { connection } = await connections.open("rpc", principal);
  meanwhile = () => connection.attach({ id: "another session" });
  expect(await connections.close("rpc", connection.id, principal)).toBe(true);
  meanwhile = () => undefined;
  // Whatever was committed before is there when this is.
  await connections.sweep();
  expect(await connections.list(principal, { limit: 10 })).toEqual([]);
  await connections.release();
});

test("released connections are not swept again, even if a sweep was running", async () => {
  const clock = new ManualClock();
  const gate = new Gate(undefined);
  let commits = 0;
  const connections = connectionsWith(clock, () => {
    commits += 1;
    return gate.pass();
  });
  gate.shut();
  clock.advance(60_000);
  await expect.poll(() => gate.waiting).toBe(1);
  await connections.release();
  gate.open();
  // One that comes later is over later.
  await connections.sweep();
  await setImmediate();
  clock.advance(600_000);
  expect(commits).toBe(2);
});
