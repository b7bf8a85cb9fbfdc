import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Owner, ProcessRegistry } from "@reins/runner";
import { expect, onTestFinished, test } from "vitest";
import { ADMIN, ANN } from "../../test/caller.ts";
import { OutputPace } from "./command-log.ts";
import { type CommandRequest, RunningCommand } from "./running-command.ts";

const MOST = 1_000;

/** Starts a script, as a service does that has had it decided. */
async function started(script: string, more: Partial<CommandRequest> = {}) {
  const home = await mkdtemp(join(tmpdir(), "reins-running-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const words = { command: "/bin/sh", args: ["-c", script] };
  const request = { ...more, ...words };
  const register = new ProcessRegistry();
  const [ends, errors]: [(number | null)[], unknown[]] = [[], []];
  const running = await RunningCommand.start({
    ...{ principal: ADMIN, request, register, cwd: home, isConfined: false, maxLogBytes: 100_000 },
    launch: { ...words, cwd: home, env: { PATH: "/usr/bin:/bin" }, label: "sh" },
    owner: new Owner(home),
    pace: new OutputPace(),
    onEnd: async (code) => void ends.push(code),
    onError: (error) => void errors.push(error),
  });
  onTestFinished(() => running.stop());
  return { running, register, ends, errors };
}

test("a command is shown with its process while it runs, then with its code, and its end is reported once", async () => {
  const { running, register, ends, errors } = await started("read word; echo got $word; exit 7", {
    interactive: true,
  });
  const { pid } = running.shown("id");
  expect(running.shown("id")).toMatchObject({ status: "running", pid: expect.any(Number), exitCode: null });
  expect(register.all).toMatchObject([{ agent: "api", principal: ADMIN.id, roots: [{ pid }] }]);
  expect([running.isOf(ADMIN), running.isOf(ANN), running.isOf({ ...ADMIN, tenant: "other" })]).toEqual([
    ...[true, false, false],
  ]);
  running.input(Buffer.from("it\n"), MOST);
  await running.ended;
  expect(running.shown("id")).toMatchObject({ status: "exited", pid: null, exitCode: 7 });
  expect(running.log.output(MOST)).toMatchObject({ stdout: "got it\n", stdoutTruncated: false });
  expect([ends, register.all, errors]).toEqual([[7], [], []]);
});

test("input is refused for a command that takes none, has ended, or does not read", async () => {
  const { running: deaf } = await started("read word; echo none");
  expect(() => deaf.input(Buffer.from("x"), MOST)).toThrow("takes no input");
  await deaf.ended;
  const { running } = await started("sleep 100", { interactive: true });
  expect(() => running.input(Buffer.alloc(MOST + 1), MOST)).toThrow("at most 1000 bytes");
  const flood = () => {
    for (let sent = 0; sent < 10_000; sent += 1) running.input(Buffer.alloc(MOST), MOST);
  };
  expect(flood).toThrow("has not read its earlier input");
  await running.end({ isKill: true });
  expect(() => running.input(Buffer.from("x"), MOST)).toThrow("has ended");
  await expect(running.resize({ cols: 80, rows: 24 })).rejects.toMatchObject({ code: "conflict" });
});

test("a command ends with all that it started, also what ignores being asked", async () => {
  const { running, ends } = await started("(trap '' TERM; sleep 100) & sleep 100");
  await running.stop();
  expect([running.isOver, ends]).toEqual([true, [null]]);
});
