import type { Served, TransportName } from "@reins/ahp";

/** One way in to a server. */
export interface Entrance {
  readonly transport: TransportName;
  readonly address: string;
}

/** A server that listens, and the ways in to it: one port can offer two. */
export interface Opened {
  readonly served: Served;
  readonly entrances: readonly Entrance[];
}

/** A server with one way in. */
export function openedAt(served: Served, transport: TransportName): Opened {
  return { served, entrances: [{ transport, address: served.address }] };
}
