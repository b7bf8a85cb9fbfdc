import { realpath, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { AgentProcess } from "../../src/process/agent-process.ts";
import { Owner } from "../../src/process/owner.ts";
import type { Launch } from "../../src/process/spawn.ts";
import type { Confinement, Network, Sandbox } from "../../src/sandbox/confine.ts";
import { TargetMachine } from "./machine.ts";
import type { Attempt, Targets } from "./targets.ts";

/** What came of all attempts to get out. */
export interface EscapeReport {
  readonly attempts: readonly Attempt[];
  /** What was got, as seen from inside, and what was done, as seen from outside. */
  readonly escapes: readonly string[];
}

const ESCAPER = fileURLToPath(new URL("./escaper.ts", import.meta.url));

/** Runs every attempt to get out of a sandbox; without one, only the harmless ones. */
export async function attemptEscapes(options: {
  readonly sandbox?: Sandbox;
  readonly network: Network;
  readonly rounds: number;
}): Promise<EscapeReport> {
  const { sandbox, network, rounds } = options;
  const machine = await TargetMachine.build();
  try {
    const targets: Targets = {
      ...machine.targets,
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
      binds: [node, dirname(ESCAPER), dirname(targets.outside)].map((path) => ({ path, access: "read" })),
      network,
    };
    const launch: Launch = {
      command: node,
      args: [ESCAPER, plan],
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" },
      cwd: targets.workspace,
      label: "the program that tries to escape",
      ...(sandbox && { confinement }),
    };
    const attempts = await attemptsOf(launch, targets.reins, sandbox);
    const gained = attempts.flatMap((one) =>
      one.gained === undefined ? [] : [`${one.name}: ${one.gained}`],
    );
    return { attempts, escapes: [...gained, ...(await machine.damage())] };
  } finally {
    await machine.tearDown();
  }
}

async function attemptsOf(launch: Launch, home: string, sandbox: Sandbox | undefined): Promise<Attempt[]> {
  const attempts: Attempt[] = [];
  const options = { owner: new Owner(home), onFault: () => undefined, ...(sandbox && { sandbox }) };
  const program = await AgentProcess.start(launch, options);
  program.onMessage(({ name, gained, untried }) => {
    attempts.push({
      name: String(name),
      ...(gained !== undefined && { gained: String(gained) }),
      ...(untried !== undefined && { untried: String(untried) }),
    });
  });
  const { code, stderr } = await program.exited;
  await program.stop();
  if (code !== 0)
    throw new Error(`the program that tries to escape gave up with ${code}: ${stderr.head}${stderr.tail}`);
  return attempts;
}
