import { mkdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import type { ProcessOptions } from "../src/process/agent-process.ts";
import type { Confinement } from "../src/sandbox/confine.ts";
import { type Started, startAgent, temporaryFolder } from "./agents.ts";
import { sandbox } from "./with-sandbox.ts";

/** A confined agent, and where things are. */
export interface Confined extends Started {
  readonly workspace: string;
  readonly reins: string;
}

/** Starts a program confined to a workspace, with Reins' home beside it, masked. */
export async function startConfined(
  command: readonly [string, ...string[]],
  changes: Partial<Confinement> = {},
  options: Partial<ProcessOptions> = {},
): Promise<Confined> {
  const place = await temporaryFolder();
  const workspace = join(place, "workspace");
  const reins = join(place, "reins");
  for (const folder of [workspace, join(reins, "home"), join(reins, "tmp")])
    await mkdir(folder, { recursive: true });
  const confinement: Confinement = {
    roots: [workspace],
    home: join(reins, "home"),
    temporary: join(reins, "tmp"),
    masked: [reins],
    binds: [{ path: await realpath(process.execPath), access: "read" }],
    network: "off",
    ...changes,
  };
  const [program, ...args] = command;
  const launch = {
    command: program,
    args,
    cwd: workspace,
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" },
    confinement,
  };
  const started = await startAgent(launch, { sandbox, ...options });
  return { ...started, workspace, reins };
}
