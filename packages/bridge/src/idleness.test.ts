import { describe, expect, it } from "vitest";
import { Idleness, type IdleTick, MOST_MESSAGE_BYTES, nextTick, type Wake, wakeOf } from "./idleness.ts";

const message = (content: string): Wake => ({ kind: "message", content, delivery: "wait_for_completion" });

/** Idleness with a manual clock. */
function idle(limit?: number) {
  const ticks: IdleTick[] = [];
  let advance = () => {};
  const idleness = new Idleness({
    onIdle: (tick) => void ticks.push(tick),
    sleep: (_, signal) =>
      new Promise((resolve, reject) => {
        advance = resolve;
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      }),
    ...(limit !== undefined && { limit }),
  });
  const elapse = async () => {
    advance();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { idleness, ticks, elapse };
}

const live = () => new AbortController().signal;

describe("idleness", () => {
  it("reports ticks with a growing backoff", async () => {
    const { idleness, ticks, elapse } = idle();
    const next = idleness.next(live());
    await elapse();
    await elapse();
    expect(ticks).toEqual([
      { iteration: 1, backoff_ms: 100 },
      { iteration: 2, backoff_ms: 500 },
      { iteration: 3, backoff_ms: 1_000 },
    ]);
    idleness.wake({ kind: "resume" });
    await next;
  });

  it("ends at once on a wake, and starts at 100 milliseconds again", async () => {
    const { idleness, ticks, elapse } = idle();
    const first = idleness.next(live());
    await elapse();
    idleness.wake(message("hello"));
    expect(await first).toEqual(message("hello"));
    const second = idleness.next(live());
    expect(ticks.at(-1)).toEqual({ iteration: 1, backoff_ms: 100 });
    idleness.wake({ kind: "resume" });
    expect(await second).toEqual({ kind: "resume" });
  });

  it("restarts the backoff at 100 milliseconds after other activity", async () => {
    const { idleness, ticks, elapse } = idle();
    const next = idleness.next(live());
    await elapse();
    idleness.restartBackoff();
    await elapse();
    await elapse();
    expect(ticks.map(({ backoff_ms }) => backoff_ms)).toEqual([100, 500, 100, 500]);
    idleness.wake({ kind: "resume" });
    expect(await next).toEqual({ kind: "resume" });
  });

  it("returns queued messages at once, in order and before a resume", async () => {
    const { idleness, ticks } = idle();
    idleness.wake({ kind: "resume" });
    idleness.wake({ kind: "resume" });
    idleness.wake(message("one"));
    idleness.wake(message("two"));
    const woken = [await idleness.next(live()), await idleness.next(live()), await idleness.next(live())];
    expect(woken).toEqual([message("one"), message("two"), { kind: "resume" }]);
    expect(ticks).toEqual([]);
  });

  it("notices a wake that is sent during its own tick", async () => {
    const ticks: IdleTick[] = [];
    const idleness: Idleness = new Idleness({
      onIdle: (tick) => {
        ticks.push(tick);
        idleness.wake(message("you are idle"));
      },
      sleep: () => new Promise(() => {}),
    });
    expect(await idleness.next(live())).toEqual(message("you are idle"));
    expect(ticks).toHaveLength(1);
  });

  it("rejects when its owner aborts", async () => {
    const { idleness } = idle();
    const owner = new AbortController();
    const next = idleness.next(owner.signal);
    owner.abort(new Error("closing"));
    await expect(next).rejects.toThrow("closing");
  });

  it("rejects messages beyond the limit of its queue", () => {
    const { idleness } = idle(2);
    idleness.wake(message("one"));
    idleness.wake(message("two"));
    expect(() => idleness.wake(message("three"))).toThrow(expect.objectContaining({ code: "queue_full" }));
  });

  it("rejects messages beyond the bytes of its queue, counted as UTF-8, until some are taken", async () => {
    const { idleness } = idle();
    const half = message("é".repeat(MOST_MESSAGE_BYTES / 4));
    idleness.wake(half);
    idleness.wake(half);
    expect(() => idleness.wake(message("x"))).toThrow(expect.objectContaining({ code: "queue_full" }));
    idleness.wake({ kind: "resume" });
    await idleness.next(live());
    idleness.wake(half);
    expect(() => idleness.wake(message("x"))).toThrow(expect.objectContaining({ code: "queue_full" }));
  });

  it("drops timers, changes and resumes where messages fill its queue: no caller could handle an error", async () => {
    const { idleness } = idle(1);
    idleness.wake(message("one"));
    for (const wake of [{ kind: "timer" }, { kind: "watch", paths: ["a"] }, { kind: "resume" }] as const)
      idleness.wake(wake);
    expect(await idleness.next(new AbortController().signal)).toEqual(message("one"));
    idleness.wake({ kind: "timer" });
    expect(await idleness.next(new AbortController().signal)).toEqual({ kind: "timer" });
  });
});

function ticks(count: number): IdleTick[] {
  const made: IdleTick[] = [];
  for (let index = 0; index < count; index += 1) made.push(nextTick(made.at(-1)));
  return made;
}

describe("a tick of an idle agent", () => {
  it("backs off from 100 milliseconds to two seconds and stays there", () => {
    expect(ticks(6).map(({ backoff_ms }) => backoff_ms)).toEqual([100, 500, 1_000, 2_000, 2_000, 2_000]);
  });

  it("is counted as in the protocol's example", () => {
    expect(ticks(3).at(-1)).toEqual({ iteration: 3, backoff_ms: 1_000 });
  });

  it("starts again after activity", () => {
    expect(nextTick(undefined)).toEqual({ iteration: 1, backoff_ms: 100 });
  });
});

describe("an idle agent", () => {
  it("is resumed by agent/resume without a message", () => {
    expect(wakeOf("agent/resume", {})).toEqual({ kind: "resume" });
  });

  it.each(["user_message", "session/input", "agent/user_message"])(
    "is woken by %s with its content",
    (method) => {
      expect(wakeOf(method, { content: "go on", sessionId: "s" })).toEqual({
        kind: "message",
        content: "go on",
        delivery: "wait_for_completion",
      });
    },
  );

  it.each([
    ["interrupt", "interrupt_immediate"],
    ["interrupt_immediate", "interrupt_immediate"],
    ["finish_step", "finish_step"],
    ["after_current_operation", "finish_step"],
    ["wait_for_completion", "wait_for_completion"],
    ["whenever", "wait_for_completion"],
    [7, "wait_for_completion"],
  ])("reads the mode %s as %s", (mode, delivery) => {
    expect(wakeOf("user_message", { content: "x", mode })).toMatchObject({ delivery });
  });

  it("ignores empty messages and other notifications", () => {
    expect(wakeOf("user_message", { content: "" })).toBeUndefined();
    expect(wakeOf("user_message", {})).toBeUndefined();
    expect(wakeOf("user_message", "hello")).toBeUndefined();
    expect(wakeOf("skills/update", { content: "x" })).toBeUndefined();
  });
});
