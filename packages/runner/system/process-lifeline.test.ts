import { open, readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { requirement } from "../../../scripts/test/requirement.ts";
import { Owner } from "../src/process/owner.ts";
import type { Launch } from "../src/process/spawn.ts";
import { isAlive, startShell, temporaryFolder } from "../test/agents.ts";
import { lifelinesOf as processesWatching } from "../torture/trees/residents.ts";
import { startParent } from "../torture/trees/start-parent.ts";

const describe = requirement("Linux", process.platform === "linux", "marks are found in /proc");

/** An agent with a child that left its group, and one that left its environment behind as well. */
const SCRIPT = `trap '' TERM HUP
(setsid sh -c 'echo $$ > stray; sleep 100; sleep 100' &)
(env -i setsid sh -c 'echo $$ > scrubbed; sleep 100; sleep 100' > /dev/null 2>&1 < /dev/null &)
while :; do sleep 1; done`;

const lifelinesOf = (home: string) => processesWatching(home).map(({ pid }) => pid);

async function startAsReins() {
  const home = await temporaryFolder();
  const launch: Launch = {
    command: "/bin/sh",
    args: ["-c", SCRIPT],
    env: { PATH: process.env.PATH ?? "" },
    cwd: home,
    label: "the agent",
  };
  const parent = await startParent({ home, launches: [launch] });
  onTestFinished(() => parent.kill());
  onTestFinished(async () => void (await new Owner(home).sweepStrays()));
  const pidIn = async (name: string) => Number(await readFile(join(home, name), "utf8").catch(() => "0"));
  await expect.poll(async () => (await pidIn("stray")) * (await pidIn("scrubbed"))).toBeGreaterThan(0);
  const pids = [...parent.agents, await pidIn("stray"), await pidIn("scrubbed")];
  const alive = async () => {
    const found: number[] = [];
    for (const pid of pids) if (await isAlive(pid)) found.push(pid);
    return found;
  };
  expect(await alive()).toEqual(pids);
  return { home, parent, pids, alive };
}

describe("when Reins is killed", () => {
  it("kills its agents, also those that left their group, and leaves no lifeline", async () => {
    const { home, parent, alive } = await startAsReins();
    expect(lifelinesOf(home)).toHaveLength(1);
    await parent.kill();
    await expect.poll(alive).toEqual([]);
    await expect.poll(() => lifelinesOf(home)).toEqual([]);
  });

  it("has its agents killed by the next start if the lifeline was killed too", async () => {
    const { home, parent, pids, alive } = await startAsReins();
    process.kill(parent.pid, "SIGSTOP");
    for (const pid of lifelinesOf(home)) process.kill(pid, "SIGKILL");
    await parent.kill();
    expect(await alive()).toEqual(pids);
    const { gone, left } = await new Owner(home).sweepStrays();
    expect(gone.map(({ pid }) => pid)).toEqual(expect.arrayContaining(pids));
    expect(left).toEqual([]);
    expect(await alive()).toEqual([]);
  });
});

describe("while Reins lives", () => {
  it("does not kill agents of another run at its start", async () => {
    const { home, pids, alive } = await startAsReins();
    expect(await new Owner(home).sweepStrays()).toMatchObject({ gone: [], left: [] });
    expect(await alive()).toEqual(pids);
  });

  it("keeps a lifeline, restarted if need be, until the last agent ends", async () => {
    const home = await temporaryFolder();
    const owner = new Owner(home);
    const { agent } = await startShell("cat", { owner });
    const other = await startShell("cat", { owner });
    const [first] = lifelinesOf(home);
    expect(first).toBeGreaterThan(1);
    process.kill(first!, "SIGKILL");
    await expect.poll(() => lifelinesOf(home)).not.toContain(first);
    await expect.poll(() => lifelinesOf(home)).toHaveLength(1);
    await agent.stop();
    expect(lifelinesOf(home)).toHaveLength(1);
    await other.agent.stop();
    await expect.poll(() => lifelinesOf(home)).toEqual([]);
  });
});

describe("descriptors that Reins was started with", () => {
  it("are inherited neither by an agent nor by the lifeline", async () => {
    const home = await temporaryFolder();
    const secret = await open(join(home, "secret"), "w");
    onTestFinished(() => secret.close());
    const parent = await startParent(
      {
        home,
        launches: [{ command: "/bin/sleep", args: ["60"], env: {}, cwd: home, label: "the agent" }],
      },
      // The first dozen or so, Node closes itself.
      Array.from({ length: 60 }, (_, index) => (index % 20 === 19 ? secret.fd : "ignore")),
    );
    onTestFinished(() => parent.kill());
    const leadsToSecret = async (pid: number) => {
      const links = await readdir(`/proc/${pid}/fd`);
      const paths = await Promise.all(links.map((name) => readlink(`/proc/${pid}/fd/${name}`)));
      return paths.includes(join(home, "secret"));
    };
    expect(await leadsToSecret(parent.pid)).toBe(true);
    for (const pid of [...parent.agents, ...lifelinesOf(home)]) expect(await leadsToSecret(pid)).toBe(false);
    expect(lifelinesOf(home)).toHaveLength(1);
  });
});
