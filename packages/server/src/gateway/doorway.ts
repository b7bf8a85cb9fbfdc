import { AsyncLocalStorage } from "node:async_hooks";
import type { IncomingMessage } from "node:http";
import type { OriginRules } from "@reins/ahp";
import type { EventStream } from "../streams/event-stream.ts";
import type { UnknownConnections } from "./unknown-connections.ts";

/** A way in, and what is known of everybody who comes by it. */
export interface Doorway {
  /** Whether it is the operator: on the socket that only its user can open, and in this process. */
  readonly operator: boolean;
  /** Which names the server goes by here, and for which pages; absent where no browser comes. */
  readonly rules?: OriginRules | undefined;
  /** Whether it is encrypted. */
  readonly secure: boolean;
  /** Whether an answer may go on and on. */
  readonly streaming: boolean;
  /** The connections here on which nobody has shown a credential; absent where nobody has to. */
  readonly unknown?: UnknownConnections | undefined;
  /** The streams that are open here. */
  readonly streams: Set<EventStream>;
}

const CAME_BY: unique symbol = Symbol("doorway");

declare module "node:http" {
  interface IncomingMessage {
    [CAME_BY]?: Doorway;
  }
}

/** The way in from this process itself. */
const inside: Doorway = { operator: true, secure: true, streaming: false, streams: new Set() };
const insiders = new AsyncLocalStorage<Doorway>();

/** Notes by which doorway a request came. */
export function comesBy(request: IncomingMessage, doorway: Doorway): void {
  request[CAME_BY] = doorway;
}

/** Has the requests that `run` makes come from this process itself. */
export function fromInside<Result>(run: () => Promise<Result>): Promise<Result> {
  return insiders.run(inside, run);
}

/** The doorway by which a request came. Outside of this process nobody can set it. */
export function doorwayOf(request: IncomingMessage): Doorway {
  const doorway = request[CAME_BY] ?? insiders.getStore();
  if (doorway) return doorway;
  throw new Error("a request came by no doorway");
}
