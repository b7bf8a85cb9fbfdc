import { link, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Machine } from "../../../test/machine.ts";
import type { Action } from "../../action.ts";
import { gatherFacts } from "../gather.ts";

let machine: Machine;

beforeAll(async () => {
  machine = await Machine.lay();
  const { workspace, folder } = machine;
  await symlink("/proc/thread-self", join(workspace, "thread"));
  await symlink("/proc/self", join(workspace, "process"));
  await symlink("/proc", join(workspace, "all"));
  await symlink("thread", join(workspace, "twice"));
  await link(join(folder, "reins/reins.db"), join(workspace, "data.bin"));
  await link(join(folder, "reins/keys/host.key"), join(workspace, "src/other-name.txt"));
  await link(join(folder, "home/.ssh/id_ed25519"), join(workspace, "notes-too.txt"));
  await link(join(folder, "home/.netrc"), join(workspace, "n.txt"));
  await mkdir(join(workspace, "pair"));
  await writeFile(join(workspace, "pair/one.txt"), "1\n");
  await link(join(workspace, "pair/one.txt"), join(workspace, "pair/two.txt"));
});
afterAll(() => machine[Symbol.asyncDispose]());

function factsOf(agent: string, tool_name: string, given: object): Promise<Action> {
  const event = {
    event_type: "pre_action" as const,
    session_id: "s",
    agent_id: agent,
    depth: 0,
    payload: { tool_name, arguments: given },
  };
  return gatherFacts(event, machine.context(agent));
}

/** The places that reading a path touches, by tool, by command, and as the harness itself serves it. */
async function placesOf(path: string): Promise<readonly string[]> {
  const actions = await Promise.all([
    factsOf("claude-code", "Read", { file_path: path }),
    factsOf("acp", "fs/read_text_file", { path }),
    factsOf("claude-code", "Bash", { command: `cat '${path}'` }),
    factsOf("claude-code", "Bash", { command: `head -c 9 < '${path}'` }),
    factsOf("claude-code", "Bash", { command: `echo x > '${path}'` }),
  ]);
  return actions.map(({ effects }) =>
    effects.flatMap((effect) => ("place" in effect ? [effect.place] : [])).join(),
  );
}

const PROCESSES = [
  "self",
  "thread-self",
  "1",
  "424242",
  "self/task/7",
  "1/task/1",
  "thread-self/task/../../self",
];
const CONTENTS =
  "environ mem maps smaps smaps_rollup numa_maps auxv pagemap cmdline fd/3 fd/0 root/etc/passwd cwd/README.md exe map_files/0-1 some_new_name".split(
    " ",
  );

describe("what a process holds is guarded by where it lies", () => {
  it.each(PROCESSES.flatMap((process) => CONTENTS.map((content) => `/proc/${process}/${content}`)))(
    "%s",
    async (path) => {
      expect(await placesOf(path)).toEqual(Array(5).fill("credentials"));
    },
  );

  it.each([
    "/proc/self/task/../environ",
    "//proc/./self//environ",
    "/proc/self/root/proc/self/environ",
    "/proc/1/root/proc/thread-self/environ",
    "/proc/self/cwd/../../proc/self/mem",
    "/tmp/../proc/self/environ",
    "/usr/../proc/thread-self/../self/environ",
    "/dev/fd/7",
    "/proc/kcore",
    "/proc/kmsg",
    "/dev/mem",
    "/dev/nvme0n1",
    "/dev/mapper/root",
    "/dev/input/event0",
    "/host/proc/1/environ",
  ])("%s", async (path) => {
    expect(await placesOf(path)).toEqual(Array(5).fill("credentials"));
  });

  it.each([
    "thread/environ",
    "process/environ",
    "all/self/environ",
    "twice/environ",
    "process/task/1/mem",
    "all/1/maps",
  ])("through a link: %s", async (path) => {
    const places = await placesOf(join(machine.workspace, path));
    expect(places).toEqual(Array(5).fill("credentials"));
  });

  it.each([
    "cat /proc/$$/environ",
    "cat /proc/$PPID/environ",
    "cat /proc/[0-9]*/environ",
    "cat /proc/*/environ",
    "strings /proc/sel?/environ",
    "grep -r KEY /proc/self",
    "grep -ra KEY /proc",
    "tar cf x.tar /proc/self",
    "cp -r /proc/self/task x",
    "cd /proc/self && cat environ",
    "cd /proc/self/task && cat ../environ",
    "cat ~/.ssh/$NAME",
    "cat {{harness}}/$NAME",
  ])("in a command: %s", async (command) => {
    const { effects } = await factsOf("claude-code", "Bash", { command: machine.fill(command) });
    expect(effects.some((effect) => "place" in effect && /credentials|harness/.test(effect.place))).toBe(
      true,
    );
  });

  it("while what the kernel shows to every process is not", async () => {
    for (const path of ["/proc/cpuinfo", "/proc/meminfo", "/proc/self/status", "/proc/1/cgroup"]) {
      const { effects } = await factsOf("claude-code", "Read", { file_path: path });
      expect([path, effects]).toEqual([
        path,
        [expect.objectContaining({ place: expect.not.stringMatching("credentials") })],
      ]);
    }
  });
});

describe("another name of a guarded file", () => {
  it.each([
    ["data.bin", "harness"],
    ["src/other-name.txt", "harness"],
    ["notes-too.txt", "credentials"],
    ["n.txt", "credentials"],
    ["pair/one.txt", "workspace"],
    ["README.md", "workspace"],
  ])("%s is %s", async (path, place) => {
    expect(await placesOf(path)).toEqual(Array(5).fill(place));
  });
});
