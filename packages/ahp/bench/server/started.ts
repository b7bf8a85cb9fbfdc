import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** A server in a process of its own. */
export interface Started {
  readonly child: ChildProcess;
  readonly address: string;
  stop(): Promise<void>;
}

/** Starts a server program of this folder and waits until it says where it listens. */
export async function start(program: string, args: readonly string[]): Promise<Started> {
  const file = fileURLToPath(new URL(program, import.meta.url));
  const child = spawn(process.execPath, [...process.execArgv, file, ...args], {
    stdio: ["pipe", "pipe", "inherit", "ipc"],
  });
  const exited = once(child, "exit");
  const [address] = await Promise.race([once(child, "message"), exited]);
  if (typeof address !== "string") throw new Error(`${program} did not start`);
  return {
    child,
    address,
    stop: async () => {
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}
