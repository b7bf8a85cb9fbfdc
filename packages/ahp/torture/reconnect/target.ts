import { join } from "node:path";
import type { Transport } from "../../src/index.ts";
import { Harness, harnessCommand } from "../harness/harness.ts";
import type { HarnessSettings } from "../harness/settings.ts";

/** A harness that can be killed and comes back where it was. */
export interface Target {
  readonly transport: Transport;
  /** Kills it without warning; `pid` is the process that answered last. */
  kill(pid: number): Promise<void>;
  /** Starts it again. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** The transports over which a client keeps a connection that can break. */
export const BREAKABLE = ["unix", "websocket", "stdio"] as const;
export type Breakable = (typeof BREAKABLE)[number];

/** Starts a harness. Events before a handshake are refused, so that an allow proves that there was one. */
export async function startTarget(transport: Breakable, folder: string): Promise<Target> {
  const shared = { requireHandshake: true };
  switch (transport) {
    case "unix": {
      const path = join(folder, "ahp.sock");
      return supervised({ type: "unix", path }, { ...shared, unix: path });
    }
    case "websocket": {
      // The port is any that is free the first time, and the same from then on.
      const first = await Harness.start({ ...shared, http: {} });
      const port = Number(new URL(first.http).port);
      return supervised({ type: "websocket", url: first.webSocket }, { ...shared, http: { port } }, first);
    }
    case "stdio":
      return startedByClient({ ...shared, stdio: true });
  }
}

async function supervised(transport: Transport, settings: HarnessSettings, first?: Harness): Promise<Target> {
  let harness = first ?? (await Harness.start(settings));
  return {
    transport,
    kill: () => harness.kill(),
    restart: async () => {
      harness = await Harness.start(settings);
    },
    stop: () => harness.stop(),
  };
}

/** Over stdio the client starts the harness, each time it connects. */
function startedByClient(settings: HarnessSettings): Target {
  return {
    transport: { type: "stdio", ...harnessCommand(settings), onStderr: () => {} },
    kill: async (pid) => {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It was the one before, which is gone already.
      }
    },
    restart: async () => {},
    stop: async () => {},
  };
}
