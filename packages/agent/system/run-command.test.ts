import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { readCommand, stopCommand } from "../src/tools/background-commands.ts";
import { commandEnvironment, runCommand, SystemCommands } from "../src/tools/run-command.ts";
import { toolContext, use } from "../test/tool-context.ts";
import { testWorkspace } from "../test/workspace.ts";

/** Whether a process runs; a zombie does not. */
async function isAlive(pid: number): Promise<boolean> {
  const state = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return state !== "" && !/\) Z /.test(state);
}

describe("run_command", () => {
  test("shows the exit code and the output of both streams", async () => {
    const { cwd } = await testWorkspace({ "a.txt": "" });
    expect(await use(runCommand, { command: "ls; echo oops >&2" }, toolContext(cwd))).toEqual({
      text: "exit code 0\na.txt\noops",
      isError: false,
    });
    const failed = await use(runCommand, { command: "echo no; exit 3" }, toolContext(cwd));
    expect(failed).toEqual({ text: "exit code 3\nno", isError: true });
  });

  test("starts in the given folder of the workspace", async () => {
    const { cwd } = await testWorkspace({ "src/a.ts": "" });
    expect((await use(runCommand, { command: "ls", working_dir: "src" }, toolContext(cwd))).text).toContain(
      "a.ts",
    );
    await expect(use(runCommand, { command: "ls", working_dir: ".." }, toolContext(cwd))).rejects.toThrow(
      expect.objectContaining({ code: "outside" }),
    );
  });

  test("keeps the start and the end of long output", async () => {
    const { cwd } = await testWorkspace();
    const command = "echo first; head -c 10000000 /dev/zero | tr '\\0' x; echo; echo last";
    const { text } = await use(runCommand, { command }, toolContext(cwd));
    expect(text.length).toBeLessThan(50 * 1024);
    expect(text).toMatch(/^exit code 0\nfirst\nx+\n\[\d+ bytes left out\]\nx+\nlast$/);
  });

  test("is killed on timeout, with everything it started", async () => {
    const { cwd } = await testWorkspace();
    const command = "sleep 600 & echo $!; wait";
    const { text, isError } = await use(runCommand, { command, timeout_ms: 300 }, toolContext(cwd));
    expect(isError).toBe(true);
    const [ending, pid] = text.split("\n");
    expect(ending).toContain("timed out after");
    await expect.poll(() => isAlive(Number(pid))).toBe(false);
  });

  test("leaves no processes behind when it ends by itself", async () => {
    const { cwd } = await testWorkspace();
    const { text } = await use(runCommand, { command: "sleep 600 & echo $!" }, toolContext(cwd));
    await expect.poll(() => isAlive(Number(text.split("\n")[1]))).toBe(false);
  });

  test("is killed at once when the turn is cancelled", async () => {
    const { cwd, text } = await testWorkspace();
    const turn = new AbortController();
    const running = use(
      runCommand,
      { command: "echo $$ > pid; trap '' TERM; while :; do sleep 1; done" },
      toolContext(cwd, { signal: turn.signal }),
    );
    await expect.poll(async () => ((await text("pid")) ?? "").trim()).not.toBe("");
    const pid = Number(await text("pid"));
    turn.abort(new Error("cancelled"));
    await expect(running).rejects.toThrow("cancelled");
    expect(await isAlive(pid)).toBe(false);
  });

  test("is not started after the turn was cancelled", async () => {
    const { cwd, text } = await testWorkspace();
    const context = toolContext(cwd, { signal: AbortSignal.abort(new Error("over")) });
    await expect(use(runCommand, { command: "touch made" }, context)).rejects.toThrow("over");
    await setTimeout(50);
    expect(await text("made")).toBeUndefined();
  });

  test("gets an environment without keys, and no input", async () => {
    const { cwd } = await testWorkspace();
    const env = commandEnvironment({ PATH: process.env.PATH, ANTHROPIC_API_KEY: "secret", HOME: "/home/x" });
    const context = toolContext(cwd, { commands: new SystemCommands(env) });
    const { text } = await use(runCommand, { command: "env; cat" }, context);
    expect(text).toContain("HOME=/home/x");
    expect(text).not.toContain("secret");
  });

  test("reports the result of a check", async () => {
    const { cwd } = await testWorkspace({ Makefile: "test:\n\t@exit 1\n" });
    const { check } = await use(runCommand, { command: "false && make test" }, toolContext(cwd));
    expect(check).toEqual({ command: "false && make test", passed: false, message: "exit code 1" });
  });

  test("rejects unknown arguments", async () => {
    const { cwd } = await testWorkspace();
    for (const given of [
      {},
      { command: "" },
      { command: "ls", timeout_ms: 0 },
      { command: "ls", timeout_ms: 10 ** 9 },
    ])
      await expect(use(runCommand, given, toolContext(cwd))).rejects.toThrow(
        expect.objectContaining({ code: "malformed" }),
      );
  });
});

describe("the output of a command that runs", () => {
  test("is shown as it comes, the last lines of it, and never the rest of a line or of a key", async () => {
    const { cwd } = await testWorkspace();
    const shown: string[] = [];
    const seen = Promise.withResolvers<void>();
    const context = toolContext(cwd, {
      onOutput: async (text) => {
        shown.push(text);
        if (text.includes("ready")) seen.resolve();
      },
    });
    const key = `${"A".repeat(64)}\n`.repeat(80);
    await writeFile(join(cwd, "key.pem"), `-----BEGIN PRIVATE KEY-----\n${key}`.repeat(2));
    const running = use(
      runCommand,
      { command: "cat key.pem; echo ready; while ! test -e go; do sleep 0.05; done" },
      context,
    );
    await seen.promise;
    await writeFile(join(cwd, "go"), "");
    expect((await running).text).toContain("BEGIN PRIVATE KEY");
    expect(shown.join("\n")).toContain("ready");
    // The beginning of the second key is out of sight: what is left of it would not be recognized as one.
    expect(shown.at(-1)).not.toContain("AAAA");
  });
});

describe("a command in the background", () => {
  test("goes on beside the calls, shows what it writes, and is stopped with what it started", async () => {
    const { cwd } = await testWorkspace();
    const context = toolContext(cwd);
    const command = "sleep 600 & echo $!; echo up; wait";
    const { text } = await use(runCommand, { command, background: true }, context);
    const [, id = "", pid] = /^(command_1) .* runs\n(\d+)\nup$/.exec(text) ?? [];
    expect(await isAlive(Number(pid))).toBe(true);
    expect((await use(readCommand, { id }, context)).text).toBe(text);
    expect((await use(stopCommand, { id }, context)).text).toContain("was stopped");
    expect(await isAlive(Number(pid))).toBe(false);
    await expect(use(readCommand, { id: "command_9" }, context)).rejects.toThrow("there are command_1");
  });

  test("that fails at once is reported as failed", async () => {
    const { cwd } = await testWorkspace();
    const { text } = await use(
      runCommand,
      { command: "echo no; exit 7", background: true },
      toolContext(cwd),
    );
    expect(text).toMatch(/ended with exit code 7\nno$/);
  });

  test("is one of eight at most, and ends with the session, after which none begins", async () => {
    const { cwd } = await testWorkspace();
    const context = toolContext(cwd);
    const given = { command: "echo $$; exec sleep 600", background: true };
    const started = await Promise.all(Array.from({ length: 8 }, () => use(runCommand, given, context)));
    await expect(use(runCommand, given, context)).rejects.toThrow("8 commands run in the background already");
    await context.background?.close();
    for (const { text } of started) expect(await isAlive(Number(text.split("\n")[1]))).toBe(false);
    await expect(use(runCommand, given, context)).rejects.toThrow("being closed");
  });
});

test("commands get the variables that the operator passes, and no others", () => {
  const env = { PATH: "/bin", JAVA_HOME: "/opt/java", SECRET: "x" };
  expect(commandEnvironment(env, ["JAVA_HOME", "NONE"])).toEqual({
    PATH: "/bin",
    JAVA_HOME: "/opt/java",
    TERM: "dumb",
  });
});
