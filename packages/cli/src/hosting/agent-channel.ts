import { type Channel, channelPair, serveChannel } from "@reins/host";
import { StoreError } from "@reins/store";
import { CliError } from "../errors/cli-error.ts";
import { EXIT } from "../exit-codes.ts";
import { operatorSocketIn, socketIn } from "../home.ts";
import { ledgerFault } from "../ledger/fault.ts";
import type { Log } from "../log/logger.ts";
import { isServed, requireSocketPath } from "../serving/socket.ts";
import { heldElsewhere } from "./held-elsewhere.ts";
import { serveOperatorHere } from "./operator-here.ts";

/** A way to speak ACP with the agents of a home. */
export interface AgentChannel {
  readonly channel: Channel;
  /** Whether a `reins up` is behind it, which others may start again. */
  readonly isServer: boolean;
  /** Lets go of it; agents that run in this process end. */
  close(): Promise<void>;
}

/**
 * Opens a way to the agents of a home: through the Reins that runs on it, and if none does, by opening the home in this
 * process.
 */
export async function openAgentChannel(
  home: string,
  agent: string,
  log: Log,
  { onlyServed = false }: { readonly onlyServed?: boolean } = {},
): Promise<AgentChannel> {
  const socket = operatorSocketIn(home);
  requireSocketPath(socket);
  if (await isServed(socket)) {
    const { webSocketChannel } = await import("./web-socket-channel.ts");
    const isServer = await isServed(socketIn(home));
    return { ...(await webSocketChannel({ home, socket, agent })), isServer };
  }
  // The home is left to the Reins that is being started again.
  if (onlyServed)
    throw new CliError(`No Reins runs on ${home}.`, {
      next: "Start it with reins up.",
      exitCode: EXIT.unreachable,
    });
  return openHere(home, agent, log);
}

async function openHere(home: string, agent: string, log: Log): Promise<AgentChannel> {
  const { OpenHosting } = await import("./open-hosting.ts");
  const opened = await OpenHosting.open({ home, log }).catch((error: unknown) => {
    throw isLocked(error) ? heldElsewhere(home, error) : ledgerFault(error, home);
  });
  const { hosting, harness } = opened;
  const [ours, theirs, close] = channelPair();
  const served = serveChannel(hosting.hub, { channel: theirs, principal: harness.identity.local(), agent });
  // Nobody waits for it: it is there before anybody has read a question.
  const operator = serveOperatorHere(home, { harness, hosting }, log);
  return {
    channel: ours,
    isServer: false,
    close: async () => {
      close(new Error("the client has gone"));
      await served;
      await (await operator).close();
      await opened.close();
    },
  };
}

function isLocked(error: unknown): boolean {
  return error instanceof StoreError && error.code === "locked";
}
