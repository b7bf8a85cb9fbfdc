import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { commandEnvironment } from "@reins/agent";
import type { Confinement } from "@reins/runner";
import { Owner } from "@reins/runner";
import { describe, expect, onTestFinished, test } from "vitest";
import { describeConfined, sandbox } from "../../runner/test/with-sandbox.ts";
import { OwnedCommands } from "../src/native/owned-commands.ts";
import { textIn } from "./fixtures/home.ts";

const SIGNAL = new AbortController().signal;

/** A home, a workspace beside it, and what runs commands there. */
async function openCommands(confined?: (base: string) => Confinement) {
  const base = await realpath(await mkdtemp(join(tmpdir(), "commands-")));
  onTestFinished(() => rm(base, { recursive: true, force: true }));
  for (const name of ["home", "workspace", "private", "tmp"]) await mkdir(join(base, name));
  const workspace = join(base, "workspace");
  const commands = new OwnedCommands({
    owner: new Owner(join(base, "home")),
    environment: commandEnvironment(process.env),
    ...(confined && { confinement: confined(base), sandbox }),
  });
  const run = (command: string, timeoutMs = 20_000, signal = SIGNAL) =>
    commands.run({ command, cwd: workspace, timeoutMs }, signal);
  return { base, workspace, run };
}

async function isAlive(pid: number): Promise<boolean> {
  const state = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return state !== "" && !/\) Z /.test(state);
}

describe("a command of the native agent", () => {
  test("gets how it ended, and what it wrote to either stream", async () => {
    const { run } = await openCommands();
    expect(await run("echo one; echo two >&2; cat; exit 3")).toEqual({
      output: "one\ntwo\n",
      exitCode: 3,
      signal: null,
      timedOut: false,
    });
  });

  test("may write as much as it likes, of which the beginning and the end are kept", async () => {
    const { run } = await openCommands();
    const { output } = await run("echo first; head -c 10000000 /dev/zero | tr '\\0' x; echo; echo last");
    expect(output.length).toBeLessThan(50 * 1024);
    expect(output).toMatch(/^first\nx+\n\[\d+ bytes left out\]\nx+\nlast\n$/);
  });

  test("is over when its time is, with whatever it started, also what left its group", async () => {
    const { run } = await openCommands();
    const { output, timedOut } = await run("sleep 600 & echo $!; setsid sleep 601 & echo $!; wait", 500);
    expect(timedOut).toBe(true);
    for (const pid of output.trim().split("\n").map(Number)) expect(await isAlive(pid)).toBe(false);
  });

  test("leaves no process behind when it ends by itself", async () => {
    const { run } = await openCommands();
    const { output } = await run("setsid sleep 602 >/dev/null 2>&1 & echo $!");
    expect(await isAlive(Number(output))).toBe(false);
  });

  test("ends with its turn, whatever it does about it", async () => {
    const { run, workspace } = await openCommands();
    const turn = new AbortController();
    const running = run("echo $$ > pid; trap '' TERM; while :; do sleep 1; done", 60_000, turn.signal);
    await expect.poll(async () => (await textIn(join(workspace, "pid")))?.trim() || undefined).toBeDefined();
    turn.abort(new Error("cancelled"));
    await expect(running).rejects.toThrow("cancelled");
    expect(await isAlive(Number(await textIn(join(workspace, "pid"))))).toBe(false);
  });
});

describeConfined("a command of the native agent, confined", () => {
  const confinement = (base: string): Confinement => ({
    roots: [join(base, "workspace")],
    home: join(base, "private"),
    temporary: join(base, "tmp"),
    masked: [join(base, "home")],
    binds: [{ path: dirname(process.execPath), access: "read" }],
    network: "off",
  });

  test("writes in the workspace and nowhere else, and sees nothing of Reins", async () => {
    const { run, base, workspace } = await openCommands(confinement);
    await writeFile(join(base, "home", "reins.db"), "ours");
    const { output } = await run(`echo in > inside; echo out > ${base}/outside; cat ${base}/home/reins.db`);
    expect(await textIn(join(workspace, "inside"))).toBe("in\n");
    expect(await textIn(join(base, "outside"))).toBeUndefined();
    expect(output).not.toContain("ours");
  });

  test("ends with its time like any other", async () => {
    const { run } = await openCommands(confinement);
    expect(await run("sleep 603", 500)).toMatchObject({ timedOut: true });
  });
});
