import { spawnSync } from "node:child_process";
import { chmod, mkdir, readdir, readFile, rename, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { confine, detectSandbox } from "../src/sandbox/confine.ts";
import { startAgent, temporaryFolder } from "../test/agents.ts";
import { startConfined } from "../test/confined.ts";
import { describeConfined, sandbox } from "../test/with-sandbox.ts";

const shell = (script: string): [string, ...string[]] => ["/bin/sh", "-c", script];

it("throws with a remedy where a sandbox is required and missing", async () => {
  const folder = await temporaryFolder();
  const { PATH } = process.env;
  onTestFinished(() => {
    process.env.PATH = PATH;
  });
  process.env.PATH = folder;
  const confinement = {
    roots: [folder],
    home: folder,
    temporary: folder,
    masked: [],
    network: "off",
  } as const;
  await expect(startAgent({ command: "/bin/sh", confinement })).rejects.toMatchObject({
    name: "SandboxError",
    code: "unavailable",
    remedy: expect.stringMatching(process.platform === "linux" ? /[Ii]nstall bubblewrap/ : /./),
  });
});

it.runIf(process.platform === "linux")("is not there where the kernel forbids it", async () => {
  const folder = await temporaryFolder();
  const broken = join(folder, "bwrap");
  await writeFile(
    broken,
    `#!/bin/sh
[ "$1" = --version ] && { echo bubblewrap 0.8.0; exit; }
echo 'bwrap: No permissions to create new namespace, likely because the kernel does not allow it' >&2; exit 1`,
  );
  await chmod(broken, 0o700);
  expect(await detectSandbox(broken)).toMatchObject({
    available: false,
    reason: expect.stringContaining("No permissions to create new namespace"),
    remedy: expect.stringContaining("user namespaces"),
  });
});

describeConfined("a confined agent", () => {
  it("works in its workspace, with a home and a temporary folder of its own", async () => {
    const { agent, workspace, reins } = await startConfined(
      shell(`pwd > where; echo "$HOME $TMPDIR" > places; echo kept > ~/kept; mktemp > made`),
    );
    expect(await agent.exited).toMatchObject({ code: 0, stderr: { head: "" } });
    expect(await readFile(join(workspace, "where"), "utf8")).toBe(`${workspace}\n`);
    expect(await readFile(join(workspace, "places"), "utf8")).toBe(`${reins}/home ${reins}/tmp\n`);
    expect(await readFile(join(reins, "home/kept"), "utf8")).toBe("kept\n");
    expect(await readdir(join(reins, "tmp"))).toHaveLength(1);
  });

  it("is not started in what was put in the place of its workspace after that was checked", async () => {
    const base = await temporaryFolder();
    for (const folder of ["own", "others", "home", "tmp"]) await mkdir(join(base, folder));
    const own = join(base, "own");
    const [home, temporary] = [join(base, "home"), join(base, "tmp")];
    const confinement = { roots: [own], home, temporary, masked: [], network: "off" } as const;
    const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" };
    const [command, ...args] = shell(`touch ${own}/started; echo started`);
    for (const isSwapped of [false, true]) {
      const launch = { command, args, env, cwd: home, label: "it" };
      const { launch: confined, close } = await confine(launch, confinement, { sandbox });
      if (isSwapped) {
        await rename(own, join(base, "before"));
        await symlink(join(base, "others"), own);
      }
      const ended = spawnSync(confined.command, confined.args, { env: confined.env, encoding: "utf8" });
      await close();
      expect(ended.stdout).toBe(isSwapped ? "" : "started\n");
      expect(ended.status === 0).toBe(!isSwapped);
    }
    expect(await readdir(join(base, "others"))).toEqual([]);
  });

  it("finds the rest of the machine read-only, and neither homes nor what is masked", async () => {
    const user = await temporaryFolder();
    await writeFile(join(user, "key"), "secret");
    const { HOME } = process.env;
    onTestFinished(() => {
      process.env.HOME = HOME;
    });
    process.env.HOME = user;
    const { agent, workspace } = await startConfined(
      shell(`for place in /etc /usr /var ${user} "$HOME/.." /; do touch "$place/canary" && echo "$place"; done > written
             ls -A ${user} > home; ls -A "$HOME/.." > reins`),
    );
    expect(await agent.exited).toMatchObject({ code: 0 });
    expect(await readFile(join(workspace, "written"), "utf8")).toBe("");
    expect(await readFile(join(workspace, "home"), "utf8")).toBe("");
    expect((await readFile(join(workspace, "reins"), "utf8")).split("\n")).toEqual(["home", "tmp", ""]);
  });

  it("speaks as any other, and its exit code is its own", async () => {
    const { agent, messages } = await startConfined(shell("cat; exit 7"));
    await agent.send({ hello: "é" });
    await expect.poll(() => messages).toEqual([{ hello: "é" }]);
    expect(await agent.stop()).toMatchObject({ exit: { code: 7 }, left: [], visibility: "namespace" });
  });

  it.each([["off"], [{ hosts: ["allowed.test"] }]] as const)(
    "is asked to end before it is ended, network %j",
    async (network) => {
      const { agent, messages, workspace } = await startConfined(
        shell(`trap ': > saved; exit 8' TERM; echo '{"up":true}'; while :; do sleep 0.05; done`),
        { network },
      );
      await expect.poll(() => messages).toHaveLength(1);
      expect((await agent.stop({ graceMs: 3_000 })).exit).toMatchObject({ code: 8 });
      expect(await readdir(workspace)).toContain("saved");
    },
  );

  it("sees no process but its own, and has no privilege", async () => {
    const { agent, workspace } = await startConfined(
      shell("ls /proc | grep -c '^[0-9]' > count; grep -E '^(CapEff|NoNewPrivs)' /proc/self/status > status"),
    );
    await agent.exited;
    expect(Number(await readFile(join(workspace, "count"), "utf8"))).toBeLessThan(8);
    expect(await readFile(join(workspace, "status"), "utf8")).toMatch(/^CapEff:\t0+\nNoNewPrivs:\t1\n$/);
  });

  it("may make sandboxes of its own only where that was allowed", async () => {
    const attempt = shell("unshare --user true");
    expect((await (await startConfined(attempt)).agent.exited).code).not.toBe(0);
    expect(await (await startConfined(attempt, { nested: true })).agent.exited).toMatchObject({ code: 0 });
  });

  it("reaches this machine's services only where the network is open", async () => {
    const server = createServer((socket) => socket.end()).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    onTestFinished(() => void server.close());
    const address = server.address();
    const port = typeof address === "object" ? address?.port : 0;
    const attempt: [string, ...string[]] = [
      process.execPath,
      "--eval",
      `require("net").connect(${port}, "127.0.0.1").on("connect", () => process.exit(0)).on("error", () => process.exit(9))`,
    ];
    const codeWith = async (network: "open" | "off") =>
      (await (await startConfined(attempt, { network })).agent.exited).code;
    expect(await codeWith("open")).toBe(0);
    expect(await codeWith("off")).toBe(9);
  });

  it("is not started when it would not see its own program, or its folder", async () => {
    const folder = await temporaryFolder();
    const program = join(folder, "agent");
    await writeFile(program, "#!/bin/sh\n");
    await chmod(program, 0o700);
    await expect(startConfined([program])).rejects.toMatchObject({ name: "SandboxError", code: "hidden" });
    const { agent } = await startConfined([program], { binds: [{ path: folder, access: "read" }] });
    expect(await agent.exited).toMatchObject({ code: 0 });
    const launch = {
      command: "sh",
      args: [],
      env: { PATH: "/usr/bin:/bin" },
      cwd: folder,
      label: "the agent",
    };
    const confinement = { roots: [], home: folder, temporary: folder, masked: [], network: "off" } as const;
    await expect(confine({ ...launch, cwd: homedir() }, confinement, { sandbox })).rejects.toMatchObject({
      code: "hidden",
    });
  });
});
