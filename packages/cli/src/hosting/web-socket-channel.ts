import { once } from "node:events";
import { parseExact } from "@reins/ahp";
import type { JsonObject } from "@reins/host";
import { WebSocket } from "ws";
import { CliError } from "../errors/cli-error.ts";
import { textOf } from "../errors/render.ts";
import { EXIT } from "../exit-codes.ts";
import type { AgentChannel } from "./agent-channel.ts";
import { heldElsewhere } from "./held-elsewhere.ts";

const MAX_MESSAGE_BYTES = 32 << 20;
/** A Reins that hangs is connected to all the same, and never answers. */
const PATIENCE_MS = 30_000;

/** Speaks ACP with the Reins that serves the socket of a home. */
export async function webSocketChannel({
  home,
  socket,
  agent,
  patienceMs = PATIENCE_MS,
}: {
  readonly home: string;
  readonly socket: string;
  readonly agent: string;
  /** How long a Reins may take to answer at all. */
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
    closed.resolve(statusCode === 404 ? heldElsewhere(home) : new Error(`it answered ${statusCode}`));
  });
  const opened = once(web, "open").then(() => undefined);
  const failure = await Promise.race([opened, closed.promise]);
  if (failure instanceof CliError) throw failure;
  if (failure)
    throw new CliError(`The Reins on ${socket} does not answer: ${textOf(failure)}`, {
      next: "See what it says for itself, or stop it and try again.",
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
