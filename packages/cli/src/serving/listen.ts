import type { Served, TransportName } from "@reins/ahp";
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
