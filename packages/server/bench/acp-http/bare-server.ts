import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ServerProcess } from "../../system/fixtures/server-process/server-process.ts";

const MAIN = fileURLToPath(new URL("./bare-server.mjs", import.meta.url));

/** A server that only passes messages on: what is left when everything is taken away that Reins does. */
export interface BareServer extends Pick<ServerProcess, "address" | "token" | "workspace"> {
  stop(): Promise<void>;
}

/** What it does with a prompt beside passing it on, as its file says. */
type BareStep = "sync" | "thread" | "record";

/** Starts one. With a folder, it waits for the disk once in each turn, and writes there. */
export async function bareServer(
  stub: string,
  folder?: string,
  step: BareStep = "sync",
): Promise<BareServer> {
  const more = folder === undefined ? [] : [step, join(folder, `bare-server-${step}.log`)];
  const child = fork(MAIN, [stub, ...more], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  const gone = once(child, "exit");
  const [listening] = await once(child, "message");
  const stop = async () => {
    child.disconnect();
    await gone;
  };
  return { ...listening, stop };
}
