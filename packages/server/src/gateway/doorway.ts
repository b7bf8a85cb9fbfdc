import { AsyncLocalStorage } from "node:async_hooks";
import type { OriginRules } from "@reins/ahp";
import type { EventStream } from "../streams/event-stream.ts";

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
  /** The streams that are open here. */
  readonly streams: Set<EventStream>;
}

/** The doorway by which the request at hand came. Outside of this process nobody can set it. */
export const doorways = new AsyncLocalStorage<Doorway>();

/** The way in from this process itself. */
export const inside: Doorway = { operator: true, secure: true, streaming: false, streams: new Set() };
