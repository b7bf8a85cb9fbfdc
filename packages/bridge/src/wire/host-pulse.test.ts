import { ManualClock } from "@reins/kit/manual-clock";
import { expect, test } from "vitest";
import { HostPulse } from "./peer-bridge.ts";

const { signal } = new AbortController();
const never = () => new Promise<never>(() => undefined);
const refuse = () => Promise.reject(new Error("unknown method"));
const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => "answered",
    (error: { code?: string }) => error.code,
  );

test("a host that answers nothing costs the first requests the deadline of its capabilities, and later ones nothing", async () => {
  const clock = new ManualClock();
  const pulse = new HostPulse(clock);
  const asked: string[] = [];
  const ask = (name: string) => () => {
    asked.push(name);
    return never();
  };
  const first = [
    codeOf(pulse.request("host/tools/list", signal, ask("tools"), ask("probe"))),
    codeOf(pulse.request("skills/list", signal, ask("skills"), ask("probe"))),
  ];
  clock.advance(5_000);
  expect(await Promise.all(first)).toEqual(["timeout", "timeout"]);
  expect(asked.filter((name) => name === "probe")).toHaveLength(1);
  const before = asked.length;
  await expect(pulse.request("skills/list", signal, ask("skills"))).rejects.toThrow("answers nothing");
  expect(asked).toHaveLength(before);
  clock.advance(60_000);
  expect(await pulse.request("skills/list", signal, async () => [])).toEqual([]);
});

test.each([
  ["a result", async () => ({})],
  ["an error", refuse],
])("a host that answers a probe by %s has the whole time of each method", async (_, probe) => {
  const clock = new ManualClock();
  const pulse = new HostPulse(clock);
  const release = Promise.withResolvers<string>();
  const slow = pulse.request("host/tools/list", signal, () => release.promise, probe);
  await new Promise(setImmediate);
  clock.advance(9_000);
  release.resolve("late");
  expect(await slow).toBe("late");
});

test("a host that falls silent later is not asked for a while, until it sends something", async () => {
  const clock = new ManualClock();
  const pulse = new HostPulse(clock);
  expect(await pulse.request("skills/list", signal, async () => 1)).toBe(1);
  const late = codeOf(pulse.request("skills/list", signal, never, refuse));
  clock.advance(10_000);
  expect(await late).toBe("timeout");
  expect(await codeOf(pulse.request("skill/match", signal, async () => 1))).toBe("timeout");
  pulse.answered();
  expect(await codeOf(pulse.request("skill/match", signal, async () => 1))).toBe("answered");
});

test("a turn that is cancelled says nothing about the host", async () => {
  const pulse = new HostPulse(new ManualClock());
  const turn = new AbortController();
  const call = pulse.request("skills/list", turn.signal, never);
  turn.abort(new Error("cancelled"));
  await expect(call).rejects.toThrow("cancelled");
  expect(await pulse.request("skills/list", signal, async () => 1)).toBe(1);
});
