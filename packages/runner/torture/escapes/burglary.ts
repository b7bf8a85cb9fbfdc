import { realpath, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { AgentProcess } from "../../src/process/agent-process.ts";
import { Owner } from "../../src/process/owner.ts";
import type { Launch } from "../../src/process/spawn.ts";
import type { Confinement, Network } from "../../src/sandbox/confine.ts";
import type { Sandbox } from "../../src/sandbox/detect.ts";
import { House } from "./house.ts";
import type { Attempt, Targets } from "./targets.ts";

/** What came of all attempts to get out. */
export interface Burglary {
  readonly attempts: readonly Attempt[];
  /** What was got, as seen from inside, and what was done, as seen from outside. */
  readonly escapes: readonly string[];
}

const BURGLAR = fileURLToPath(new URL("./burglar.ts", import.meta.url));

/** Runs every attempt to get out of a sandbox; without one, only the harmless ones. */
export async function commitBurglary(options: {
  readonly sandbox?: Sandbox;
  readonly network: Network;
  readonly rounds: number;
}): Promise<Burglary> {
  const { sandbox, network, rounds } = options;
  const house = await House.build();
  try {
    const targets: Targets = {
      ...house.targets,
      confined: sandbox !== undefined,
      proxied: sandbox !== undefined && typeof network === "object",
      rounds,
    };
    const plan = join(targets.workspace, "targets.json");
    await writeFile(plan, JSON.stringify(targets));
    const node = await realpath(process.execPath);
    const confinement: Confinement = {
      roots: [targets.workspace],
      home: join(targets.reins, "home"),
      temporary: join(targets.reins, "tmp"),
      masked: [targets.reins],
      binds: [node, dirname(BURGLAR), dirname(targets.outside)].map((path) => ({ path, access: "read" })),
      network,
    };
    const launch: Launch = {
      command: node,
      args: [BURGLAR, plan],
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" },
      cwd: targets.workspace,
      label: "the burglar",
      ...(sandbox && { confinement }),
    };
    const attempts = await attemptsOf(launch, targets.reins, sandbox);
    const loot = attempts.flatMap((one) => (one.loot === undefined ? [] : [`${one.name}: ${one.loot}`]));
    return { attempts, escapes: [...loot, ...(await house.damage())] };
  } finally {
    await house.tearDown();
  }
}

async function attemptsOf(launch: Launch, home: string, sandbox: Sandbox | undefined): Promise<Attempt[]> {
  const attempts: Attempt[] = [];
  const options = { owner: new Owner(home), onFault: () => undefined, ...(sandbox && { sandbox }) };
  const burglar = await AgentProcess.start(launch, options);
  burglar.onMessage(({ name, loot, untried }) => {
    attempts.push({
      name: String(name),
      ...(loot !== undefined && { loot: String(loot) }),
      ...(untried !== undefined && { untried: String(untried) }),
    });
  });
  const { code, stderr } = await burglar.exited;
  await burglar.stop();
  if (code !== 0) throw new Error(`the burglar gave up with ${code}: ${stderr.head}${stderr.tail}`);
  return attempts;
}
