import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { resolve } from "node:path";
import { createSecureContext } from "node:tls";
import { type AhpServer, type Served, serveUnix, type TransportName } from "@reins/ahp";
import { errorMessage } from "@reins/kit";
import { CliError, EXIT } from "../errors.ts";
import type { Log } from "../log.ts";
import type { Stop } from "./stop.ts";

export interface ServerAddress {
  readonly transport: TransportName;
  readonly address: string;
}

/** A server that listens, with its addresses: one port can serve two transports. */
export interface ListeningServer {
  readonly served: Served;
  readonly addresses: readonly ServerAddress[];
}

export function listeningAt(served: Served, transport: TransportName): ListeningServer {
  return { served, addresses: [{ transport, address: served.address }] };
}

export type Start = () => Promise<ListeningServer>;

/** Starts one after another; closes the started ones when one fails. */
export async function startAll(starts: readonly Start[]): Promise<ListeningServer[]> {
  const opened: ListeningServer[] = [];
  try {
    for (const start of starts) opened.push(await start());
    return opened;
  } catch (error) {
    await closeAll(opened);
    throw error;
  }
}

interface Backend {
  /** Rejects when serving must stop. */
  readonly refused: Promise<never>;
  /** Ends running work while its clients can still be answered. */
  interrupt?(): Promise<void>;
  close(): Promise<void>;
}

/** Serves until a stop signal or until every connection closed, then lets running work finish. */
export async function serveUntilStopped(
  opened: readonly ListeningServer[],
  stop: Stop,
  log: Log,
  backing?: Backend,
): Promise<void> {
  const left = Promise.all(opened.map(({ served }) => served.closed)).then(() => undefined);
  try {
    const signal = await Promise.race([stop.requested, left, ...(backing ? [backing.refused] : [])]);
    if (signal) log.info({ signal }, "stopping: running work may finish; a second signal ends it at once");
    await backing?.interrupt?.();
  } finally {
    await closeAll(opened);
    await backing?.close();
  }
  log.info("stopped");
}

async function closeAll(opened: readonly ListeningServer[]): Promise<void> {
  await Promise.all(opened.map(({ served }) => served.close()));
}

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

export interface TlsFlags {
  readonly tlsCert?: string | undefined;
  readonly tlsKey?: string | undefined;
}

interface TlsConfiguration {
  readonly home: string;
  readonly tls: Readonly<Record<"cert" | "key", string>> | undefined;
}

/** A file and the flag or setting that named it. */
interface NamedFile {
  readonly path: string;
  readonly from: string;
}

export interface TlsFiles {
  readonly cert: NamedFile | undefined;
  readonly key: NamedFile | undefined;
}

export interface TlsPair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Paths in flags start at the current folder, those of `reins.yaml` at the home. */
export function tlsFiles({ tlsCert, tlsKey }: TlsFlags, file?: TlsConfiguration): TlsFiles {
  const namedFile = (flag: string, said: string | undefined, name: "cert" | "key"): NamedFile | undefined => {
    if (said !== undefined) return { path: resolve(said), from: flag };
    return file?.tls && { path: resolve(file.home, file.tls[name]), from: `tls.${name} in reins.yaml` };
  };
  return { cert: namedFile("--tls-cert", tlsCert, "cert"), key: namedFile("--tls-key", tlsKey, "key") };
}

/** Reads a certificate and its key and checks that they match; undefined when neither was named. */
export function readTls({ cert, key }: TlsFiles): TlsPair | undefined {
  if (cert && key) return usable({ cert: read(cert), key: read(key) });
  const alone = cert ?? key;
  if (!alone) return undefined;
  throw new CliError(`TLS needs a certificate and its key, but only ${alone.from} is given.`, {
    next: "Give both: --tls-cert and --tls-key, or cert and key under tls in reins.yaml.",
  });
}

function usable(pair: TlsPair): TlsPair {
  try {
    createSecureContext({ ...pair });
    return pair;
  } catch (error) {
    throw new CliError(`The certificate or its key cannot be used: ${errorMessage(error)}`, {
      next: "Give both in PEM, and the key that belongs to the certificate.",
      cause: error,
    });
  }
}

function read({ path, from }: NamedFile): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new CliError(`${from} cannot be read: ${errorMessage(error)}`, {
      next: "Check the path.",
      cause: error,
    });
  }
}
