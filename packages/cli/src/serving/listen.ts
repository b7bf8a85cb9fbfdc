import type { Served, TransportName } from "@reins/ahp";
import type { Log } from "../log.ts";
import type { Stop } from "./stop.ts";

/** One way in to a server. */
export interface ServerAddress {
  readonly transport: TransportName;
  readonly address: string;
}

/** A server that listens, and the ways in to it: one port can offer two. */
export interface ListeningServer {
  readonly served: Served;
  readonly entrances: readonly ServerAddress[];
}

/** A server with one way in. */
export function listeningAt(served: Served, transport: TransportName): ListeningServer {
  return { served, entrances: [{ transport, address: served.address }] };
}

/** Begins to listen somewhere. */
export type Start = () => Promise<ListeningServer>;

/** Starts one after the other; when one fails, those before it are closed again. */
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

/** What serving stands on. */
interface Backend {
  /** Rejects when serving must not go on. */
  readonly refused: Promise<never>;
  /** Ends what is under way, while whoever waits for it can still be answered. */
  interrupt?(): Promise<void>;
  /** Lets go of it, once nobody is served any more. */
  close(): Promise<void>;
}

/** Serves until asked to stop or until there is nobody left to serve, then lets what is under way finish. */
export async function serveUntilStopped(
  opened: readonly ListeningServer[],
  stop: Stop,
  log: Log,
  backing?: Backend,
): Promise<void> {
  const left = Promise.all(opened.map(({ served }) => served.closed)).then(() => undefined);
  try {
    const signal = await Promise.race([stop.requested, left, ...(backing ? [backing.refused] : [])]);
    if (signal)
      log.info({ signal }, "stopping: what is under way may finish; a second signal ends it at once");
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
