import { link, mkdtemp, realpath, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Harness, realFiles } from "@reins/supervisor";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ControlRequest } from "./control-point.ts";
import { StandingVerdicts, seeFile } from "./standing-verdicts.ts";

/** Standing verdicts over a supervisor with scripted answers. */
function standing() {
  const says = { foreseen: "allowed", decided: "allowed" };
  const decided: unknown[] = [];
  const settled: unknown[] = [];
  const inForce = new Map<string, unknown>([["default", {}]]);
  const harness = {
    policies: { inForce },
    supervisor: {
      foresee: async () => ({ verdict: says.foreseen, reason: "foreseen" }),
      decide: async (event: unknown) => {
        if (says.foreseen === "ask") return { verdict: "blocked", reason: "foreseen" };
        decided.push(event);
        return { verdict: says.decided, reason: "decided", entry: "cid" };
      },
      settle: async (_: unknown, end: unknown) => void settled.push(end),
    },
  } as unknown as Harness;
  const request = {
    event: { event_type: "pre_action", payload: {} },
    subject: { tenant: "default", agent: "a", session: "s" },
    requestContext: {},
  } as unknown as ControlRequest;
  const verdicts = new StandingVerdicts(harness);
  const ask = async (about = "file") => (await verdicts.decide(request, about)).isAllowed;
  return { says, decided, settled, inForce, ask };
}

describe("a verdict that stands", () => {
  test("is on record once, also for questions at the same time, and settled", async () => {
    const { decided, settled, ask } = standing();
    expect(await Promise.all([ask(), ask(), ask()])).toEqual([true, true, true]);
    expect([decided.length, settled]).toEqual([1, [{ event_type: "pre_action", entry: "cid" }]]);
  });

  test("is decided again for another state of the file and under another policy", async () => {
    const { decided, inForce, ask } = standing();
    await ask();
    await ask("changed file");
    inForce.set("default", {});
    await ask();
    expect(decided).toHaveLength(3);
  });

  test("is decided again where the policy would say something else now", async () => {
    const { says, decided, ask } = standing();
    expect(await ask()).toBe(true);
    says.foreseen = "blocked";
    says.decided = "blocked";
    expect(await ask()).toBe(false);
    expect(await ask()).toBe(false);
    expect(decided).toHaveLength(2);
  });

  test("is a refusal without a record where a person would be asked", async () => {
    const { says, decided, ask } = standing();
    says.foreseen = "ask";
    expect([await ask(), decided]).toEqual([false, []]);
  });

  test("of limits or other harnesses is asked for again: they may allow it later", async () => {
    const { says, decided, ask } = standing();
    says.decided = "blocked";
    expect(await ask()).toBe(false);
    says.decided = "allowed";
    expect([await ask(), decided.length]).toEqual([true, 2]);
  });
});

test("the state of a file changes with what it holds and with where it leads", async () => {
  const folder = await mkdtemp(join(tmpdir(), "reins-state-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const state = async () => (await seeFile(folder, "link")).state;
  const states = [await state()];
  await writeFile(join(folder, "a"), "a");
  await symlink("a", join(folder, "link"));
  states.push(await state(), await state());
  await writeFile(join(folder, "a"), "more");
  states.push(await state());
  expect(new Set(states).size).toBe(3);
});

test("the state of a file that is open is that of its path, until another takes its place", async () => {
  const { folder, path, opened } = await openedFile();
  expect((await seeFile(folder, "a", opened)).state).toBe((await seeFile(folder, "a")).state);
  await rm(path);
  await writeFile(path, "another");
  expect((await seeFile(folder, "a", opened)).state).not.toBe((await seeFile(folder, "a")).state);
});

describe("the file system of a decision", () => {
  test("has an open file where its descriptor says, whatever its path leads to meanwhile", async () => {
    const { folder, path, opened } = await openedFile();
    const { files } = await seeFile(folder, "a", opened);
    await rm(path);
    await symlink("elsewhere", path);
    await writeFile(join(folder, "elsewhere"), "another");
    expect([await files?.realpath(path), await realFiles.realpath(path)]).toEqual([
      path,
      join(folder, "elsewhere"),
    ]);
  });

  test("knows an open file that has several names", async () => {
    const { folder, path, opened } = await openedFile();
    const { files } = await seeFile(folder, "a", opened);
    expect(await files?.linkedIdentity(path)).toBeUndefined();
    await link(path, join(folder, "b"));
    const linked = await seeFile(folder, "a", { ...opened, state: await stat(path) });
    expect(await linked.files?.linkedIdentity(path)).toBe(await realFiles.linkedIdentity(path));
    expect(await linked.files?.linkedIdentity(path)).toBeTypeOf("string");
  });

  test("is that of the machine where a descriptor or a path does not say enough", async () => {
    const { folder, opened } = await openedFile();
    const found = [
      seeFile(folder, "a", { ...opened, isCertain: false }),
      seeFile(folder, "b/../a"),
      seeFile(folder, "nothing"),
    ];
    for (const { files } of await Promise.all(found)) expect(files).toBeUndefined();
  });
});

/** A file in a folder of its own, and what its descriptor says of it. */
async function openedFile() {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "reins-state-")));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, "a");
  await writeFile(path, "a");
  return { folder, path, opened: { path, isCertain: true, state: await stat(path) } };
}
