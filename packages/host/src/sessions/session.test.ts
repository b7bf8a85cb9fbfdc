import type { JsonObject } from "@reins/acp";
import { ManualClock, settled } from "@reins/kit/manual-clock";
import type { Draft } from "@reins/ledger";
import { describe, expect, it, test } from "vitest";
import type { HostedAgent } from "../hosting/agent-host.ts";
import { PREAMBLE_HEADING } from "../turn/preamble.ts";
import { noSession, QUEUE_FULL, Session, SessionClosed, TurnQueue } from "./session.ts";
import type { SessionRecord } from "./session-record.ts";
import type { SessionPhase } from "./session-state.ts";

const record = {
  ...{ id: "s", key: "k", tenant: "t", agent: "stub", principal: "p", state: "idle", mode: "persistent" },
  ...{ created_at: "2026-01-01T00:00:00.000Z", last_activity: "2026-01-01T00:00:00.000Z", metadata: {} },
} as unknown as SessionRecord;
const entry: Draft = { quality: "session_lifecycle", actor: "a", target: "s", tags: [], payload: {} };
const HOW = { reason: "terminated", terminated_by: "daemon" } as const;
const NO_SIGNAL = new AbortController().signal;

/** A session in a phase, on a hub that notes what it is asked to do, in order. */
function open(phase: SessionPhase, from = record) {
  const did: string[] = [];
  const logged: JsonObject[] = [];
  let arrivals = 0;
  const hub = {
    clock: new ManualClock(),
    harness: {
      redact: (value: unknown) => value,
      approvals: { withdraw: async (_: unknown, reason: string) => void did.push(`withdraw: ${reason}`) },
      record: async (drafts: readonly Draft[]) => void did.push(`record ${drafts[0]?.quality}`),
    },
    log: {
      append: ({ session, message }: { session: string; message: JsonObject }) => {
        did.push(`log ${session} ${String(message.method)}`);
        logged.push(message);
      },
      written: async () => void did.push("written"),
      lastOf: () => 7,
    },
    sessions: {
      asking: { set: () => undefined, settle: () => undefined },
      get: () => session,
      put: async (
        { state }: SessionRecord,
        how: { readonly entry?: Draft; readonly relaxed?: boolean } = {},
      ) =>
        void did.push(
          `put ${state}${how.entry ? " with an entry" : ""}${how.relaxed ? " with the next" : ""}`,
        ),
      putLater: () => void did.push("put later"),
      notify: ({ state }: SessionRecord) => void did.push(`notify ${state}`),
      forget: () => void did.push("forget"),
    },
    onError: (error: unknown) => void did.push(`error ${String(error)}`),
    present: () => [],
    isConnected: () => true,
    arrive: () => {
      arrivals += 1;
      return arrivals;
    },
  };
  const session: Session = new Session(hub as never, from, phase);
  return { session, did, logged, hub };
}

describe("a session", () => {
  test("that starts is stored with its entry before it is idle", async () => {
    const { session, did } = open("starting");
    const started = session.started({ agent_session_id: "a-1" }, entry);
    expect(session.phase).toBe("starting");
    await started;
    expect(did).toEqual(["put idle with an entry", "notify idle", "put idle"]);
    expect(session).toMatchObject({ phase: "idle", record: { agent_session_id: "a-1" } });
  });

  test("that was ended or cut off while its agent started it does not start", async () => {
    await expect(open("ended").session.started({}, entry)).rejects.toThrow("there is no session");
    await expect(open("interrupted").session.started({}, entry)).rejects.toThrow("Reins is stopping");
  });

  test("that ends is written, withdrawn from people and announced, in this order", async () => {
    const { session, did, logged } = open("idle");
    await session.end({ ...HOW, message: "enough" });
    const steps = ["notify closed", "put closed", "withdraw: the session ended"];
    expect(did).toEqual([...steps, "log s _sandboxagent/session/ended", "forget"]);
    const data = { reason: "terminated", terminated_by: "daemon", message: "enough" };
    expect(logged).toMatchObject([{ params: { session_id: "s", sessionId: "s", data } }]);
    await session.end(HOW);
    expect(did).toHaveLength(5);
  });

  test("is closed by its agent first, and ends also if that fails", async () => {
    const { session, did } = open("idle");
    const request = async (method: string) => {
      did.push(method);
      throw new Error("broken");
    };
    session.assign({ governor: { request } } as unknown as HostedAgent);
    await session.closeAndEnd(HOW);
    expect(did.slice(0, 3)).toEqual(["session/close", "error Error: broken", "notify closed"]);
    expect(session.phase).toBe("ended");
  });

  it.each(["starting", "resuming", "idle", "running", "parked", "ended"] as const)(
    "records its end in its agent while %s",
    async (phase) => {
      const { session, did } = open(phase);
      await session.stopped(entry);
      expect(did).toEqual(["record session_lifecycle"]);
      expect(session.phase).toBe(phase);
    },
  );

  test("that is cut off records and shows nothing any more, so that the next start finds it as it was", async () => {
    const { session, did } = open("running", { ...record, state: "running", turn_after: 3 });
    session.cut(new Error("Reins is stopping"));
    expect(session.cutOff.aborted).toBe(true);
    await session.stopped(entry);
    await session.apply({ type: "turn_ended" });
    session.clients.notify("session/update", { sessionId: "s", update: {} });
    expect(did).toEqual([]);
    expect(session).toMatchObject({ phase: "interrupted", record: { state: "running", turn_after: 3 } });
  });

  test("has an agent only while that agent has it", async () => {
    const agent = {} as HostedAgent;
    const { session } = open("starting");
    session.assign(agent);
    expect([session.agent, session.isWith(agent), session.isBusy]).toEqual([undefined, true, true]);
    await session.started({}, entry);
    expect([session.agent, session.isBusy]).toEqual([agent, false]);
    await session.apply({ type: "agent_lost" });
    expect([session.agent, session.isWith(agent)]).toEqual([undefined, false]);
  });
});

describe("pending requests of a session", () => {
  test("are cancelled up to the one that arrived last, with the reason", () => {
    const { session, hub } = open("idle");
    const [first, second] = [hub.arrive(), hub.arrive()];
    const { pending } = session;
    const reason = new Error("killed");
    session.cancelPending(reason);
    expect([first, second].map((arrival) => session.cancelReason(arrival))).toEqual([reason, reason]);
    expect(pending.reason).toBe(reason);
    expect(session.cancelReason(hub.arrive())).toBeUndefined();
    expect(session.pending.aborted).toBe(false);
  });

  test("are cancelled as closed when a client closes it for now, and as unknown when it ends", async () => {
    const { session, hub } = open("idle");
    const before = hub.arrive();
    await session.apply({ type: "released" });
    expect(session.cancelReason(before)).toBeInstanceOf(SessionClosed);
    await session.end(HOW);
    expect(session.cancelReason(before)?.message).toBe(noSession("s").message);
  });
});

describe("what an agent sends", () => {
  const update = (update: JsonObject) => ({ sessionId: "s", update });

  test("updates the settings and commands of its session, and is logged", async () => {
    const { session, did } = open("running");
    session.learn({ modes: { availableModes: [], currentModeId: "plan" }, models: "m" });
    session.clients.notify(
      "session/update",
      update({ sessionUpdate: "current_mode_update", currentModeId: "code" }),
    );
    const options = { sessionUpdate: "config_option_update", configOptions: ["o"] };
    session.clients.notify("session/update", update(options));
    const commands = { sessionUpdate: "available_commands_update", availableCommands: [] };
    session.clients.notify("session/update", update(commands));
    expect(session.settings).toEqual({
      modes: { availableModes: [], currentModeId: "code" },
      models: "m",
      configOptions: ["o"],
    });
    expect(session.commands).toEqual(commands);
    expect(did).toEqual(Array(3).fill("log s session/update"));
  });

  test("names its session, unless the name is the same or begins like our preamble", async () => {
    const { session, did } = open("idle");
    for (const title of ["A title", "A title", `${PREAMBLE_HEADING} and more`, 7])
      session.clients.notify("session/update", update({ sessionUpdate: "session_info_update", title }));
    await settled();
    expect(session.record.title).toBe("A title");
    expect(did.filter((step) => step.startsWith("put"))).toEqual(["put idle with the next"]);
  });

  test("of a turn that is over is written before the turn counts as such", async () => {
    const { session, did } = open("running");
    await session.clients.concluded(entry);
    expect(did).toEqual(["log turns:s _reins/turn_over", "written"]);
  });
});

describe("a queue of turns", () => {
  test("runs one after the other, also after one that failed", async () => {
    const queue = new TurnQueue();
    const first = Promise.withResolvers<string>();
    const order: string[] = [];
    const one = queue.run(() => first.promise, NO_SIGNAL).catch(() => order.push("one"));
    const two = queue.run(async () => order.push("two"), NO_SIGNAL);
    await settled();
    expect([order, queue.isBusy]).toEqual([[], true]);
    first.reject(new Error("broken"));
    await Promise.all([one, two]);
    expect([order, queue.isBusy]).toEqual([["one", "two"], false]);
  });

  test("never runs one that was cancelled while it waited, and settles after those before it", async () => {
    const queue = new TurnQueue();
    const first = Promise.withResolvers<void>();
    const cancel = new AbortController();
    void queue.run(() => first.promise, NO_SIGNAL);
    const second = queue.run(() => expect.fail(), cancel.signal);
    cancel.abort(new Error("cancelled"));
    await expect(second).rejects.toThrow("cancelled");
    let isSettled = false;
    const all = queue.settled.then(() => {
      isSettled = true;
    });
    await settled();
    expect(isSettled).toBe(false);
    first.resolve();
    await all;
  });

  test("rejects a prompt when too many wait", async () => {
    const queue = new TurnQueue(1);
    const first = Promise.withResolvers<void>();
    const waiting = [queue.run(() => first.promise, NO_SIGNAL), queue.run(async () => undefined, NO_SIGNAL)];
    await expect(queue.run(async () => undefined, NO_SIGNAL)).rejects.toMatchObject({ code: QUEUE_FULL });
    first.resolve();
    await Promise.all(waiting);
    await queue.run(async () => undefined, NO_SIGNAL);
  });
});
