import { channelPair, Peer, type PeerHandlers } from "@reins/acp";
import { ManualClock, settled } from "@reins/kit/manual-clock";
import { describe, expect, it } from "vitest";
import { withIdleTimeout } from "./agent-channel.ts";

const TIMEOUTS = { answerMs: 1_000, turnMs: 5_000 };

/** A host and an agent; the agent answers nothing by itself. */
function open(host: Partial<PeerHandlers> = {}, agent: Partial<PeerHandlers> = {}) {
  const clock = new ManualClock();
  const [ours, theirs, close] = channelPair();
  const given: number[] = [];
  const onTimeout = () => void given.push(clock.now().getTime());
  const silent = { request: () => new Promise<never>(() => {}), notification: () => undefined };
  const channel = withIdleTimeout(ours, { label: "The agent", clock, timeouts: TIMEOUTS, onTimeout });
  return {
    clock,
    given,
    close,
    host: new Peer(channel, { ...silent, ...host }),
    agent: new Peer(theirs, { ...silent, ...agent }),
  };
}

describe("an agent that owes an answer", () => {
  it("is stopped when it is silent, and rejects what waits for it", async () => {
    const { host, clock, given } = open();
    const asked = host.request("session/new", {}).catch((error: Error) => error.message);
    await clock.advanceAndSettle(999);
    expect(given).toEqual([]);
    await clock.advanceAndSettle(1);
    expect(await asked).toBe("The agent has said nothing for 1 s, and owes an answer to session/new");
    expect(given).toHaveLength(1);
  });

  it("may take any time as long as it sends something", async () => {
    const { host, agent, clock, given } = open();
    const turn = host.request("session/prompt", {}).catch((error: Error) => error.message);
    for (let count = 0; count < 10; count += 1) {
      await clock.advanceAndSettle(4_000);
      await agent.notify("session/update", {});
    }
    expect(given).toEqual([]);
    await clock.advanceAndSettle(5_000);
    expect(await turn).toMatch(/^The agent has said nothing for 5 s/);
  });

  it("is not silent while it waits for an answer itself", async () => {
    const answer = Promise.withResolvers<unknown>();
    const { host, agent, clock, given } = open({ request: () => answer.promise });
    const turn = host.request("session/prompt", {}).catch((error: Error) => error.message);
    const permission = agent.request("session/request_permission", {});
    for (let count = 0; count < 5; count += 1) await clock.advanceAndSettle(5_000);
    expect(given).toEqual([]);
    answer.resolve({ yes: true });
    expect(await permission).toEqual({ yes: true });
    await clock.advanceAndSettle(5_000);
    await clock.advanceAndSettle(5_000);
    expect(await turn).toMatch(/^The agent has said nothing/);
  });

  it("is waited for no longer once it has answered, or has gone", async () => {
    const quick = open({}, { request: async () => ({ fine: true }) });
    expect(await quick.host.request("session/new", {})).toEqual({ fine: true });
    expect(quick.clock.waiting).toBe(0);
    const { host, clock, given, close } = open();
    const asked = host.request("session/new", {}).catch((error: Error) => error.message);
    expect(clock.waiting).toBe(1);
    close(new Error("gone"));
    expect(await asked).toBe("gone");
    await settled();
    expect(clock.waiting).toBe(0);
    expect(given).toEqual([]);
  });
});
