import { Owner, ProcessRegistry, SandboxError } from "@reins/runner";
import { QuotaError, Quotas } from "@reins/supervisor";
import { describe, expect, onTestFinished, test } from "vitest";
import { ADMIN, ANN, testAccess } from "../../test/caller.ts";
import { BLOCKED, type TestGovernance } from "../../test/governed-session.ts";
import { CommandService, type CommandServiceOptions } from "./command-service.ts";

async function service(governance: TestGovernance = {}, more: Partial<CommandServiceOptions> = {}) {
  const made = await testAccess(governance, more.quotas as Quotas | undefined);
  const { folder, access, quotas, errors } = made;
  const register = new ProcessRegistry();
  const commands = new CommandService({
    ...{ access, quotas, register, owner: new Owner(folder) },
    room: { require: async () => undefined },
    environment: async () => ({ PATH: "/usr/bin:/bin", FROM: "service" }),
    confinementFor: async () => {
      throw new SandboxError("unavailable", "there is no sandbox here", "install one");
    },
    onError: (error) => void errors.push(error),
    ...more,
  });
  onTestFinished(() => commands.close());
  return { ...made, commands, register };
}

const sh = (script: string) => ({ command: "/bin/sh", args: ["-c", script] });

describe("a command", () => {
  test("is started after its verdict, with its words, folder and variables, and recorded by how it ended", async () => {
    const { folder, commands, caller, decided, records, register } = await service();
    const request = { ...sh('echo "$FROM $MORE"; pwd; echo wrong >&2; exit 3'), env: { MORE: "request" } };
    const ended = await commands.run(caller(ADMIN), request);
    expect(ended).toMatchObject({ exitCode: 3, timedOut: false, stderr: "wrong\n" });
    expect(ended.stdout).toBe(`service request\n${folder}\n`);
    expect(decided).toMatchObject([
      {
        payload: {
          tool_name: "terminal/create",
          arguments: {
            command: ["/bin/sh", "-c", request.args[1]],
            cwd: folder,
            env: [{ name: "MORE", value: "request" }],
          },
        },
      },
    ]);
    expect(records).toMatchObject([{ quality: "tool_result", tags: ["failed"] }]);
    expect(register.all).toEqual([]);
  });

  test("is not started where it is refused, its folder is none, or a word of it has a NUL", async () => {
    const { commands, caller, register, records } = await service({ verdicts: [BLOCKED] });
    const admin = caller(ADMIN);
    const starts = [
      [{ command: "true" }, "forbidden"],
      [{ command: "true", cwd: "../up" }, "invalid"],
      [{ command: "tr\0ue" }, "invalid"],
      [{ command: "true", env: { "A\0": "" } }, "invalid"],
    ] as const;
    for (const [request, code] of starts)
      await expect(commands.start(admin, request)).rejects.toMatchObject({ code });
    expect([register.all, records, commands.list(ADMIN)]).toEqual([[], [], []]);
  });

  test("of a caller who is bound to folders needs the sandbox", async () => {
    const { commands, caller, records } = await service();
    await expect(commands.run(caller(ANN), sh("true"))).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("run in a sandbox alone"),
    });
    expect(records).toMatchObject([{ tags: ["failed"] }]);
  });

  test("that is no program fails, on the record, and leaves its place to others", async () => {
    const { commands, caller, records } = await service();
    commands.limit({ ...commands.limits, maxConcurrentProcesses: 1 });
    const none = commands.start(caller(ADMIN), { command: "/none/such" });
    await expect(none).rejects.toMatchObject({ code: "conflict" });
    expect(records).toMatchObject([{ tags: ["failed"] }]);
    expect(await commands.run(caller(ADMIN), sh("true"))).toMatchObject({ exitCode: 0 });
  });

  test("belongs to its caller alone, and is forgotten once it has ended", async () => {
    const { commands, caller } = await service();
    const { id } = await commands.start(caller(ADMIN), { ...sh("cat"), interactive: true });
    const other = { ...ADMIN, id: "other" };
    expect(commands.list(other)).toEqual([]);
    const calls = [
      () => commands.get(other, id),
      () => commands.input(other, id, Buffer.from("x")),
      () => commands.logs(other, id, {}),
      () => commands.forget(other, id),
    ];
    for (const call of calls) expect(call).toThrow(`there is no command ${id}`);
    expect(() => commands.forget(ADMIN, id)).toThrow("it runs still");
    expect(await commands.end(ADMIN, id, { isKill: true })).toMatchObject({ status: "exited", pid: null });
    commands.forget(ADMIN, id);
    expect(() => commands.get(ADMIN, id)).toThrow("there is no command");
  });

  test("is ended at its timeout, and when its caller has left", async () => {
    const { commands, caller } = await service();
    const late = await commands.run(caller(ADMIN), { ...sh("sleep 100"), timeoutMs: 1 });
    expect(late).toMatchObject({ timedOut: true, exitCode: null });
    const left = new AbortController();
    const running = commands.run(caller(ADMIN, { signal: left.signal }), sh("sleep 100"));
    left.abort(new Error("it left"));
    await expect(running).rejects.toThrow("it left");
  });
});

describe("the commands of a caller", () => {
  test("are as many at once as the limits and the quota say, those that are starting included", async () => {
    const { commands, caller } = await service();
    commands.limit({ ...commands.limits, maxConcurrentProcesses: 2 });
    const started = await Promise.allSettled(
      Array.from({ length: 5 }, () => commands.start(caller(ADMIN), { ...sh("cat"), interactive: true })),
    );
    expect(started.filter(({ status }) => status === "fulfilled")).toHaveLength(2);
    const [running] = commands.list(ADMIN);
    await commands.end(ADMIN, running?.id ?? "", { isKill: true });
    expect(await commands.run(caller(ADMIN), sh("true"))).toMatchObject({ exitCode: 0 });
    const { commands: few, caller: one } = await service(
      {},
      { quotas: new Quotas({ principal: { commands: 1 } }) },
    );
    await few.start(one(ADMIN), { ...sh("cat"), interactive: true });
    await expect(few.start(one(ADMIN), sh("true"))).rejects.toThrow(QuotaError);
  });

  test("have limits that are set down from those of the start, and not above them", async () => {
    const { commands } = await service();
    const { limits } = commands;
    const wanted = { ...limits, maxOutputBytes: 10, maxConcurrentProcesses: 1e9, maxRunTimeoutMs: -1 };
    expect(commands.limit(wanted)).toEqual({ ...limits, maxOutputBytes: 10, maxRunTimeoutMs: 1 });
    expect(commands.limit(limits)).toEqual(limits);
  });

  test("end with the service, which starts none afterwards", async () => {
    const { commands, caller, register } = await service();
    await commands.start(caller(ADMIN), { ...sh("cat"), interactive: true });
    await commands.close();
    expect([register.all, commands.list(ADMIN)]).toMatchObject([[], [{ status: "exited" }]]);
    await expect(commands.start(caller(ADMIN), sh("true"))).rejects.toMatchObject({ code: "unavailable" });
  });
});
