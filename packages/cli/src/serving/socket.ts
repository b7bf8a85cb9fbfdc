import { connect } from "node:net";
import { type AhpServer, type Served, serveUnix } from "@reins/ahp";
import { errorMessage } from "@reins/kit";
import { CliError, EXIT } from "../errors.ts";
import { type ListeningServer, listeningAt } from "./listen.ts";

/** BSD systems, among them macOS, allow a little less than Linux. */
const MAX_PATH_BYTES = process.platform === "linux" ? 107 : 103;

export interface SocketInUse {
  readonly message: string;
  readonly next: string;
}

export async function serveSocket(
  server: AhpServer,
  path: string,
  taken: SocketInUse,
): Promise<ListeningServer> {
  return listeningAt(await listenOnSocket(path, taken, () => serveUnix(server, { path })), "unix");
}

export async function listenOnSocket(
  path: string,
  taken: SocketInUse,
  listen: () => Promise<Served>,
): Promise<Served> {
  requireSocketPath(path);
  try {
    return await listen();
  } catch (error) {
    if (await isServed(path)) {
      throw new CliError(taken.message, { next: taken.next, exitCode: EXIT.taken, cause: error });
    }
    throw new CliError(errorMessage(error), {
      next: "Choose another path, or remove the file.",
      exitCode: EXIT.failed,
      cause: error,
    });
  }
}

export function requireSocketPath(path: string): void {
  const length = Buffer.byteLength(path);
  if (length <= MAX_PATH_BYTES) return;
  throw new CliError(`The path ${path} is too long for a socket: ${length} of ${MAX_PATH_BYTES} bytes.`, {
    next: "Choose a shorter path.",
  });
}

/** Whether a server accepts connections on a socket. */
export function isServed(path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(path);
  socket.once("connect", () => resolve(true));
  socket.once("error", () => resolve(false));
  return promise.finally(() => socket.destroy());
}
