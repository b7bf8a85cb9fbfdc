import { describe, expect, test } from "vitest";
import type { Orchestration, RunEngine } from "../src/engine/engine.ts";

/** What a suite needs of an engine. */
export interface EngineUnderTest {
  /** Opens an engine on what an earlier one left. */
  open(orchestrate: Orchestration<unknown, unknown>): Promise<RunEngine<unknown, unknown>>;
  /** Stops an engine as a kill would: nothing that is under way ends. */
  kill(engine: RunEngine<unknown, unknown>): Promise<void>;
}

/** What every durable engine has to do. */
export function engineConformance(name: string, make: () => Promise<EngineUnderTest>): void {
  describe(name, () => {
    test("runs an orchestration from its input to its result", async () => {
      const { open } = await make();
      const engine = await open(async (input, { step }) => [input, await step("one", async () => 1)]);
      await engine.start("run", "in");
      expect(await engine.ended("run")).toEqual(["in", 1]);
      expect(await engine.find("run")).toEqual({ state: "ended", result: ["in", 1] });
      expect(await engine.find("other")).toBeUndefined();
      await engine.close();
    });

    test("starts a run once, however often it is asked to", async () => {
      const { open } = await make();
      let count = 0;
      const engine = await open(async (_, { step }) => step("one", async () => (count += 1)));
      await Promise.all([engine.start("run", 1), engine.start("run", 2), engine.start("run", 3)]);
      expect(await engine.ended("run")).toBe(1);
      await engine.start("run", 4);
      expect(count).toBe(1);
      await engine.close();
    });

    test("repeats no step that was stored, and gives the one that was not the same key again", async () => {
      const { open, kill } = await make();
      const keys: string[] = [];
      const reached = Promise.withResolvers<void>();
      const first = await open(async (_, { step }) => {
        const one = await step("one", async (key) => keys.push(key));
        await step("two", (key) => {
          keys.push(key);
          reached.resolve();
          return new Promise(() => undefined);
        });
        return one;
      });
      await first.start("run", null);
      await reached.promise;
      await kill(first);
      const second = await open(async (_, { step }) => [
        await step("one", async () => "again"),
        await step("two", async (key) => keys.push(key)),
      ]);
      await second.resume();
      expect(await second.ended("run")).toEqual([1, 3]);
      expect(keys[2]).toBe(keys[1]);
      await second.close();
    });

    test("comes to the same end when it is killed in every step, with the same key for each", async () => {
      const { open, kill } = await make();
      const keys: string[] = [];
      const steps = ["a", "b", "c", "d"];
      const life = (cut: string | undefined, reached: () => void): Orchestration<unknown, unknown> => {
        return async (_, { step }) => {
          const values: string[] = [];
          for (const name of steps)
            values.push(
              await step(name, async (key) => {
                keys.push(key);
                if (name !== cut) return name;
                reached();
                return new Promise(() => undefined);
              }),
            );
          return values;
        };
      };
      for (const cut of steps) {
        const reached = Promise.withResolvers<void>();
        const engine = await open(life(cut, reached.resolve));
        if (cut === "a") await engine.start("run", null);
        else await engine.resume();
        await reached.promise;
        await kill(engine);
      }
      const last = await open(life(undefined, () => undefined));
      await last.resume();
      expect(await last.ended("run")).toEqual(steps);
      expect(keys).toHaveLength(8);
      expect(new Set(keys).size).toBe(4);
      await last.close();
    });

    test("delivers each value once, however often it is killed", async () => {
      const { open, kill } = await make();
      const orchestrate: Orchestration<unknown, unknown> = async (_, { receive, step }) => {
        const values: unknown[] = [];
        for (let count = 0; count < 4; count += 1) {
          const value = await receive("answer");
          values.push(await step(`use-${count}`, async () => value));
        }
        return [...values, await receive("done")];
      };
      for (const [life, value] of ["one", "two", "three", "four"].entries()) {
        const engine = await open(orchestrate);
        if (life === 0) await engine.start("run", null);
        await engine.resume();
        expect(await engine.send("run", "answer", value)).toBe(true);
        await kill(engine);
      }
      const last = await open(orchestrate);
      await last.resume();
      expect(await last.send("run", "done", true)).toBe(true);
      expect(await last.ended("run")).toEqual(["one", "two", "three", "four", true]);
      await last.close();
    });

    test("keeps what was chosen before a step that was stored", async () => {
      const { open, kill } = await make();
      const reached = Promise.withResolvers<void>();
      const orchestrate =
        (value: string): Orchestration<unknown, unknown> =>
        async (_, { choose, step, now }) => {
          const chosen = [await choose("which", () => value), await now("time")];
          await step("one", async () => 1);
          if (value === "first") {
            reached.resolve();
            await new Promise(() => undefined);
          }
          return chosen;
        };
      const first = await open(orchestrate("first"));
      await first.start("run", null);
      await reached.promise;
      await kill(first);
      const second = await open(orchestrate("second"));
      await second.resume();
      expect(await second.ended("run")).toEqual(["first", expect.any(Number)]);
      await second.close();
    });

    test("delivers what is sent before and while it is waited for, in order and across a kill", async () => {
      const { open, kill } = await make();
      const orchestrate: Orchestration<unknown, unknown> = async (_, { receive }) => [
        await receive("a"),
        await receive("b"),
        await receive("b"),
      ];
      const first = await open(orchestrate);
      await first.start("run", null);
      expect(await first.send("run", "b", "early")).toBe(true);
      expect(await first.send("run", "b", "late")).toBe(true);
      expect(await first.send("none", "b", 1)).toBe(false);
      await kill(first);
      const second = await open(orchestrate);
      await second.resume();
      expect(await second.send("run", "a", { answer: 42 })).toBe(true);
      expect(await second.ended("run")).toEqual([{ answer: 42 }, "early", "late"]);
      expect(await second.send("run", "b", "after the end")).toBe(false);
      await second.close();
    });

    test("reopens a run that has ended, which takes the same course and then receives more", async () => {
      const { open, kill } = await make();
      let effects = 0;
      const orchestrate: Orchestration<unknown, unknown> = async (_, { step, receive, hasReceived }) => {
        const values: unknown[] = [await step("one", async () => (effects += 1))];
        while (hasReceived("more")) values.push(await receive("more"));
        return values;
      };
      const first = await open(orchestrate);
      await first.start("run", null);
      expect(await first.ended("run")).toEqual([1]);
      const reopened = [first.send("run", "more", "a", { reopen: true })];
      reopened.push(first.send("run", "more", "b", { reopen: true }));
      expect(await Promise.all(reopened)).toEqual([true, true]);
      await expect.poll(() => first.ended("run")).toEqual([1, "a", "b"]);
      await kill(first);
      const second = await open(orchestrate);
      await second.resume();
      expect(await second.send("run", "more", "c", { reopen: true })).toBe(true);
      expect(await second.ended("run")).toEqual([1, "a", "b", "c"]);
      expect(await second.send("none", "more", "c", { reopen: true })).toBe(false);
      expect(effects).toBe(1);
      await second.close();
    });

    test("takes another course where something is sent as it ends, whatever the last one still waits for", async () => {
      const { open } = await make();
      const looked = Promise.withResolvers<void>();
      const left = Promise.withResolvers<void>();
      const orchestrate: Orchestration<unknown, unknown> = async (_, { available, hasReceived, receive }) => {
        const values: unknown[] = [];
        // It is left behind, waiting, when the orchestration ends.
        void available("more").then(() => undefined);
        void receive("other");
        while (hasReceived("more")) values.push(await receive("more"));
        looked.resolve();
        await left.promise;
        return values;
      };
      const engine = await open(orchestrate);
      await engine.start("run", null);
      await looked.promise;
      const sending = ["a", "b"].map((value) => engine.send("run", "more", value, { reopen: true }));
      sending.push(engine.send("run", "other", "c", { reopen: true }));
      left.resolve();
      expect(await Promise.all(sending)).toEqual([true, true, true]);
      await expect.poll(() => engine.ended("run")).toEqual(["a", "b"]);
      await engine.close();
    });

    test("delivers any number of values in their order across a kill, and none that comes after a cancel", async () => {
      const { open, kill } = await make();
      const values = Array.from({ length: 25 }, (_, value) => value);
      const orchestrate: Orchestration<unknown, unknown> = async (_, { receive, signal }) => {
        const received: unknown[] = [];
        while (received.length < values.length) received.push(await receive("value"));
        if (!signal.aborted)
          await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        return received;
      };
      const first = await open(orchestrate);
      await first.start("run", null);
      for (const value of values) await first.send("run", "value", value);
      await kill(first);
      const second = await open(orchestrate);
      await second.resume();
      const canceling = second.cancel("run");
      expect(await second.send("run", "value", "late", { reopen: true })).toBe(false);
      expect(await canceling).toBe(true);
      expect(await second.ended("run")).toEqual(values);
      await second.close();
    });

    test("says that something has arrived before it is received, and receives it once", async () => {
      const { open } = await make();
      const engine = await open(async (_, { available, hasReceived, receive }) => {
        await Promise.all([available("value"), available("value")]);
        const before = hasReceived("value");
        const value = await receive("value");
        return [before, value, hasReceived("value")];
      });
      await engine.start("run", null);
      await engine.send("run", "value", 1);
      expect(await engine.ended("run")).toEqual([true, 1, false]);
      await engine.close();
    });

    test("has a run that waits for a value go on with it before its sender does", async () => {
      const { open } = await make();
      const began = Promise.withResolvers<void>();
      const got: unknown[] = [];
      const engine = await open(async (_, { available, choose, hasReceived, receive }) => {
        began.resolve();
        while (got.length < 3) {
          await available("value");
          if (await choose(`event-${got.length}`, () => hasReceived("value")))
            got.push(await receive("value"));
        }
        return [];
      });
      await engine.start("run", null);
      await began.promise;
      for (const count of [1, 2, 3]) {
        expect(await engine.send("run", "value", count)).toBe(true);
        expect(got).toHaveLength(count);
      }
      expect(await engine.ended("run")).toEqual([]);
      await engine.close();
    });

    test("runs children, once each and across a kill, and joins them", async () => {
      const { open, kill } = await make();
      let effects = 0;
      const reached = Promise.withResolvers<void>();
      const orchestrate =
        (isFirst: boolean): Orchestration<unknown, unknown> =>
        async (input, { spawn, join, step, receive }) => {
          if (input === "bad") throw new Error("a bad child");
          if (input === "child") return step("effect", async () => (effects += 1));
          await spawn("a", "child");
          await spawn("b", "bad");
          const ends = [await join("a"), await join("b")];
          reached.resolve();
          return isFirst ? receive("never") : ends;
        };
      const first = await open(orchestrate(true));
      await first.start("run", "parent");
      await reached.promise;
      await kill(first);
      const second = await open(orchestrate(false));
      await second.resume();
      expect(await second.ended("run")).toEqual([
        { state: "ended", result: 1 },
        { state: "failed", error: "a bad child" },
      ]);
      expect(effects).toBe(1);
      await second.close();
    });

    test("cancels children with their parent", async () => {
      const { open } = await make();
      const engine = await open(async (input, { spawn, join, signal }) => {
        if (input === "parent") {
          await spawn("child", "child");
          return join("child");
        }
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        return "canceled";
      });
      await engine.start("run", "parent");
      await expect.poll(() => engine.find("run/child")).toEqual({ state: "running" });
      expect(await engine.cancel("run")).toBe(true);
      expect(await engine.ended("run")).toEqual({ state: "ended", result: "canceled" });
      await engine.close();
    });

    test("cancels children after a kill, too", async () => {
      const { open, kill } = await make();
      const orchestrate: Orchestration<unknown, unknown> = async (input, { spawn, join, signal }) => {
        if (input === "parent") {
          await spawn("child", "child");
          return join("child");
        }
        if (!signal.aborted)
          await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        return "canceled";
      };
      const first = await open(orchestrate);
      await first.start("run", "parent");
      await expect.poll(() => first.find("run/child")).toEqual({ state: "running" });
      await kill(first);
      const second = await open(orchestrate);
      await second.resume();
      expect(await second.cancel("run")).toBe(true);
      expect(await second.ended("run")).toEqual({ state: "ended", result: "canceled" });
      await second.close();
    });

    test("keeps ids and times that it gave", async () => {
      const { open, kill } = await make();
      const seen: unknown[] = [];
      const orchestrate =
        (isFirst: boolean): Orchestration<unknown, unknown> =>
        async (_, { id, now, step, receive }) => {
          const given = [await id("a"), await id("b"), await now("t")];
          await step("seen", async () => seen.push(given));
          return isFirst ? receive("never") : given;
        };
      const first = await open(orchestrate(true));
      await first.start("run", null);
      await expect.poll(() => seen).toHaveLength(1);
      await kill(first);
      const second = await open(orchestrate(false));
      await second.resume();
      const given = await second.ended("run");
      expect(given).toEqual(seen[0]);
      expect(new Set(given as unknown[]).size).toBe(3);
      await second.close();
    });

    test("waits for a timer as long as it says, and no longer than a signal lets it", async () => {
      const { open } = await make();
      const engine = await open(async (_, { sleep, now }) => {
        const began = await now("began");
        await sleep("short", 30);
        await sleep("long", 1_000_000, AbortSignal.timeout(5));
        return (await now("ended")) - began;
      });
      await engine.start("run", null);
      expect(await engine.ended("run")).toBeGreaterThanOrEqual(29);
      await engine.close();
    });

    test("cancels by a signal that a kill does not undo", async () => {
      const { open, kill } = await make();
      const orchestrate: Orchestration<unknown, unknown> = async (_, { signal, receive }) =>
        signal.aborted ? "canceled" : receive("never");
      const first = await open(orchestrate);
      await first.start("run", null);
      expect(await first.cancel("run")).toBe(true);
      expect(await first.cancel("none")).toBe(false);
      await kill(first);
      const second = await open(orchestrate);
      await second.resume();
      expect(await second.ended("run")).toBe("canceled");
      await second.close();
    });

    test("reports an orchestration that throws, and does not run it again", async () => {
      const { open } = await make();
      const engine = await open(async () => {
        throw new Error("a bug");
      });
      await engine.start("run", null);
      await expect(engine.ended("run")).rejects.toThrow("a bug");
      expect(await engine.find("run")).toEqual({ state: "failed", error: "a bug" });
      await engine.close();
    });
  });
}
