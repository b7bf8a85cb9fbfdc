import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Owner } from "../src/process/owner.ts";
import { groupTable } from "../src/process/process-table.ts";
import { isAlive, startAgent, startShell, temporaryFolder } from "../test/agents.ts";

/** Where processes can leave their group and still be found. */
const linux = process.platform === "linux";
const pidIn = async (file: string) => Number(await readFile(file, "utf8"));

describe("what is said", () => {
  it("passes messages both ways unchanged, one per line", async () => {
    const { agent, messages } = await startShell("cat");
    const sent = [{ jsonrpc: "2.0", id: 1, unknown: { kept: ["é😀", null] } }, { text: "a\nb" }];
    for (const message of sent) await agent.send(message);
    await expect.poll(() => messages).toEqual(sent);
  });

  it("is reported when it is no message, and the next line is read", async () => {
    const { messages, faults } = await startShell(`echo 'Welcome!'; echo '[1]'; echo '{"a":1}'; cat`);
    await expect.poll(() => messages).toEqual([{ a: 1 }]);
    expect(faults).toMatchObject([
      { kind: "not_a_message", excerpt: "Welcome!" },
      { kind: "not_a_message", excerpt: "[1]" },
    ]);
  });

  it("rejects an endless line", async () => {
    const script = `head -c 3000000 /dev/zero | tr '\\0' x; echo; echo '{"a":1}'; cat`;
    const { messages, faults } = await startShell(script, { maxLineBytes: 1 << 20 });
    await expect.poll(() => messages).toEqual([{ a: 1 }]);
    expect(faults).toMatchObject([{ kind: "line_too_long" }]);
  });

  it("waits in the agent while no listener takes it", async () => {
    const free = Promise.withResolvers<void>();
    const taken: unknown[] = [];
    const { agent, folder } = await startShell(
      `line=$(head -c 1000 /dev/zero | tr '\\0' x)
       i=0; while [ $i -lt 3000 ]; do echo "{\\"n\\":$i,\\"text\\":\\"$line\\"}"; i=$((i + 1)); done
       : > done; cat`,
      {
        listener: async ({ n }) => {
          taken.push(n);
          await free.promise;
        },
      },
    );
    await expect.poll(() => taken).toEqual([0]);
    await agent.send({ n: "last" });
    expect(existsSync(join(folder, "done"))).toBe(false);
    free.resolve();
    await expect.poll(() => taken.length).toBe(3_001);
    expect(taken).toEqual([...Array.from({ length: 3_000 }, (_, n) => n), "last"]);
  });

  it("waits for an agent that does not read, up to a limit", async () => {
    const { agent } = await startShell("sleep 100", { maxLineBytes: 1 << 20 });
    const text = "x".repeat(1_000_000);
    const sends = [agent.send({ text }), agent.send({ text }), agent.send({ text })];
    const settled = Promise.allSettled(sends);
    await expect(agent.send({ text })).rejects.toMatchObject({ code: "backed_up" });
    await agent.stop({ graceMs: 0 });
    for (const one of await settled) expect(one).toMatchObject({ reason: { code: "gone" } });
  });

  it("keeps stderr up to a limit and never blocks the agent", async () => {
    const { agent } = await startShell(
      `echo first >&2; head -c 2000000 /dev/zero | tr '\\0' x >&2; echo last >&2`,
      { keptStderrBytes: 1_000 },
    );
    const { code, stderr } = await agent.exited;
    expect(code).toBe(0);
    expect(stderr.head).toMatch(/^first\nx+$/);
    expect(stderr.tail).toMatch(/^x+last\n$/);
    expect(stderr.omitted).toBe(2_000_000 + "first\nlast\n".length - 2_000);
    expect(agent.stderr()).toEqual(stderr);
  });
});

describe("the environment", () => {
  it("is that of the launch plus the mark", async () => {
    const env = { PATH: "/usr/bin:/bin", KEY: "a secret", EMPTY: "" };
    const { agent, faults } = await startAgent({ command: "env", env });
    await agent.exited;
    const lines = faults.map(({ excerpt }) => excerpt).filter((line) => !line.startsWith("_="));
    const [mark, ...others] = lines.toSorted(
      (left, right) => Number(right.includes("REINS")) - Number(left.includes("REINS")),
    );
    expect(mark).toMatch(/^REINS_PROCESS=[0-9a-f]{16}\.\d+\.[0-9a-f]{32}$/);
    expect(others.sort()).toEqual(["EMPTY=", "KEY=a secret", "PATH=/usr/bin:/bin"]);
  });
});

describe("an agent that cannot be started", () => {
  it.each([
    ["a command that is not there", { command: "no-such-agent" }, /no-such-agent/],
    ["a file that is no program", { command: "/etc/passwd" }, /passwd/],
    ["a folder that is not there", { command: "true", cwd: "/nonexistent" }, /nonexistent/],
  ])("says so: %s", async (_, launch, message) => {
    await expect(startAgent(launch)).rejects.toMatchObject({ code: "not_started", message });
  });
});

describe("a crash", () => {
  it("is reported with code, stderr and the last message, and nothing can be sent afterwards", async () => {
    const { agent, messages } = await startShell(`echo '{"last":true}'; echo boom >&2; exit 3`);
    expect(await agent.exited).toEqual({
      code: 3,
      signal: null,
      stderr: { head: "boom\n", tail: "", omitted: 0 },
    });
    expect(messages).toEqual([{ last: true }]);
    await expect(agent.send({})).rejects.toMatchObject({
      code: "gone",
      message: expect.stringMatching(/code 3/),
    });
  });

  it.runIf(linux)(
    "is reported although another process holds the pipes, and that process is killed",
    async () => {
      const { agent, folder } = await startShell(
        "setsid sh -c 'echo $$ > child; sleep 100' & until [ -s child ]; do sleep 0.01; done; kill -9 $$",
      );
      expect(await agent.exited).toMatchObject({ signal: "SIGKILL" });
      const { gone, left } = await agent.stop();
      const child = await pidIn(join(folder, "child"));
      expect(gone.map(({ pid }) => pid)).toContain(child);
      expect(left).toEqual([]);
      expect(await isAlive(child)).toBe(false);
    },
  );
});

describe("a stop", () => {
  it("closes the input, which ends most agents", async () => {
    const { agent, folder } = await startShell("cat; : > saved; exit 7");
    const { exit, left } = await agent.stop();
    expect(exit).toMatchObject({ code: 7, signal: null });
    expect(left).toEqual([]);
    expect(existsSync(join(folder, "saved"))).toBe(true);
  });

  it("sends SIGTERM to an agent that stays", async () => {
    const { agent, folder, messages } = await startShell(
      `trap ': > saved; exit 8' TERM; echo '{"up":true}'; while :; do sleep 0.05; done`,
    );
    await expect.poll(() => messages).toHaveLength(1);
    expect((await agent.stop({ graceMs: 2_000 })).exit).toMatchObject({ code: 8 });
    expect(existsSync(join(folder, "saved"))).toBe(true);
  });

  it.runIf(linux)(
    "kills one that does not listen, with all that came out of it, wherever it went",
    async () => {
      const { agent, folder, messages } = await startShell(
        `trap '' TERM HUP
       sleep 100 & echo $! > child
       (setsid sh -c 'echo $$ > stray; trap "" TERM; sleep 100; sleep 100' &)
       (env -i setsid sh -c 'echo $$ > scrubbed; sleep 100; sleep 100' > /dev/null 2>&1 < /dev/null &)
       until [ -s stray ] && [ -s scrubbed ]; do sleep 0.01; done
       echo '{"up":true}'
       while :; do sleep 1; done`,
      );
      await expect.poll(() => messages).toHaveLength(1);
      const report = await agent.stop({ graceMs: 200 });
      expect(report.exit).toMatchObject({ signal: "SIGKILL" });
      expect(report.visibility).toBe("marks");
      const gone = report.gone.map(({ pid }) => pid);
      for (const name of ["child", "stray", "scrubbed"]) {
        const pid = await pidIn(join(folder, name));
        expect([name, await isAlive(pid), gone.includes(pid)]).toEqual([name, false, true]);
      }
      expect(gone).toContain(agent.pid);
      expect(report.left).toEqual([]);
    },
  );

  it("is idempotent", async () => {
    const { agent } = await startShell("cat");
    const [first, second] = await Promise.all([agent.stop(), agent.stop()]);
    expect(first).toBe(second);
  });

  it("kills only the group where the system shows no marks, and reports that", async () => {
    const folder = await temporaryFolder();
    const { agent, messages } = await startShell(
      `sleep 100 & echo "{\\"child\\":$!}"; trap '' TERM; while :; do sleep 1; done`,
      { owner: new Owner(folder, groupTable) },
    );
    await expect.poll(() => messages).toHaveLength(1);
    const { visibility, gone, left } = await agent.stop({ graceMs: 100 });
    expect(visibility).toBe("group");
    expect(gone.map(({ pid }) => pid)).toEqual(expect.arrayContaining([agent.pid, messages[0]?.child]));
    expect(left).toEqual([]);
  });
});
