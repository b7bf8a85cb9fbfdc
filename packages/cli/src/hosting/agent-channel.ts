import { once } from "node:events";
import { type Channel, channelPair, type JsonObject } from "@reins/acp";
import { parseExact } from "@reins/ahp";
import { type Hosting, serveChannel } from "@reins/host";
import { errorMessage } from "@reins/kit";
import type { Harness } from "@reins/supervisor";
import { WebSocket } from "ws";
import { CliError, EXIT } from "../errors.ts";
import { operatorSocketIn, socketIn } from "../home.ts";
import { isLocked, ledgerError } from "../ledger/ledger-error.ts";
import type { Log } from "../log.ts";
import { openAccess, operatorGateway, serveOperator } from "../serving/gateway.ts";
import { isServed, requireSocketPath } from "../serving/listen.ts";

export interface AgentChannel {
  readonly channel: Channel;
  /** Whether a `reins up` is behind it, which may be restarted. */
  readonly isServer: boolean;
  close(): Promise<void>;
}

/** Opens a channel through the Reins that runs on a home, or opens the home in this process. */
export async function openAgentChannel(
  home: string,
  agent: string,
  log: Log,
  { onlyServed = false }: { readonly onlyServed?: boolean } = {},
): Promise<AgentChannel> {
  const socket = operatorSocketIn(home);
  requireSocketPath(socket);
  if (await isServed(socket)) {
    const isServer = await isServed(socketIn(home));
    return { ...(await webSocketChannel({ home, socket, agent })), isServer };
  }
  // The home is left to the server that is being restarted.
  if (onlyServed)
    throw new CliError(`No Reins runs on ${home}.`, {
      next: "Start it with reins up.",
      exitCode: EXIT.unreachable,
    });
  return openInProcess(home, agent, log);
}

async function openInProcess(home: string, agent: string, log: Log): Promise<AgentChannel> {
  const { hosting, harness, close: release } = await openHeldHome(home, log);
  const [ours, theirs, close] = channelPair();
  const served = serveChannel(hosting.hub, { channel: theirs, principal: harness.identity.local(), agent });
  return {
    channel: ours,
    isServer: false,
    close: async () => {
      close(new Error("the client has gone"));
      await served;
      await release();
    },
  };
}

interface HeldHome {
  readonly hosting: Hosting;
  readonly harness: Harness;
  /** Resolves when the operator's API is served, or could not be. */
  readonly served: Promise<unknown>;
  close(): Promise<void>;
}

/** Opens a home on which no Reins runs, for one command, and serves the operator's API meanwhile. */
export async function openHeldHome(home: string, log: Log): Promise<HeldHome> {
  const { openHome } = await import("../reins/reins.ts");
  const opened = await openHome({ home, log }).catch((error: unknown) => {
    throw isLocked(error) ? homeInUse(home, error) : ledgerError(error, home);
  });
  const { hosting, harness } = opened;
  // It listens before a user can read a question.
  const operator = serveOperatorSocket(home, { harness, hosting }, log);
  return {
    ...{ hosting, harness, served: operator },
    close: async () => {
      await (await operator).close();
      await opened.close();
    },
  };
}

interface OperatorSocket {
  close(): Promise<void>;
}

/**
 * Serves the operator's API while this process holds the home, so that approvals can be answered from another
 * terminal and other editors find their agents. A failure only logs a warning.
 */
async function serveOperatorSocket(
  home: string,
  { harness, hosting }: { readonly harness: Harness; readonly hosting: Hosting },
  log: Log,
): Promise<OperatorSocket> {
  const taken = { message: `${home} is served by another process`, next: "" };
  try {
    const gateway = await operatorGateway(await openAccess({ home }), harness, log, hosting);
    const { served } = await serveOperator(gateway, operatorSocketIn(home), taken);
    return {
      close: async () => {
        await served.close();
        await gateway.close();
      },
    };
  } catch (error) {
    log.warn({ error: errorMessage(error) }, "approvals can only be answered in this terminal");
    return { close: async () => undefined };
  }
}

const MAX_MESSAGE_BYTES = 32 << 20;
/** A hanging server accepts connections and never answers. */
const CONNECT_TIMEOUT_MS = 30_000;

export async function webSocketChannel({
  home,
  socket,
  agent,
  patienceMs = CONNECT_TIMEOUT_MS,
}: {
  readonly home: string;
  readonly socket: string;
  readonly agent: string;
  readonly patienceMs?: number;
}): Promise<Omit<AgentChannel, "isServer">> {
  const address = `ws+unix:${socket}:/acp?agent=${encodeURIComponent(agent)}`;
  const web = new WebSocket(address, {
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
    handshakeTimeout: patienceMs,
  });
  const closed = Promise.withResolvers<Error>();
  web.on("close", (code, reason) =>
    closed.resolve(new Error(reason.toString() || `Reins closed it (${code})`)),
  );
  web.on("error", (error) => closed.resolve(error));
  web.on("unexpected-response", (request, { statusCode }) => {
    request.destroy();
    closed.resolve(statusCode === 404 ? homeInUse(home) : new Error(`it answered ${statusCode}`));
  });
  const opened = once(web, "open").then(() => undefined);
  const failure = await Promise.race([opened, closed.promise]);
  if (failure instanceof CliError) throw failure;
  if (failure)
    throw new CliError(`The Reins on ${socket} does not answer: ${errorMessage(failure)}`, {
      next: "See its log, or stop it and try again.",
      exitCode: EXIT.unreachable,
    });
  return {
    channel: {
      send: (message) =>
        new Promise((resolve, reject) =>
          web.send(JSON.stringify(message), (error) => (error ? reject(error) : resolve())),
        ),
      onMessage: (listener) => {
        let last: Promise<void> = Promise.resolve();
        web.on("message", (data) => {
          const message: JsonObject = Object(parseExact(String(data)));
          last = last.then(() => listener(message)).catch(() => undefined);
        });
      },
      closed: closed.promise,
    },
    close: async () => {
      web.close();
      await closed.promise;
    },
  };
}

function homeInUse(home: string, cause?: unknown): CliError {
  return new CliError(`Another process uses ${home} for its own agents.`, {
    next: "To run several at a time, first start one server for all of them: reins up",
    exitCode: EXIT.taken,
    ...(cause !== undefined && { cause }),
  });
}
