import type { Inbox } from "./inbox.ts";

/** A connection without any of a client's manners: bytes out, replies in. */
export interface RawStream {
  readonly inbox: Inbox;
  /** Settles when the other side has ended it, or {@link destroy} has. */
  readonly closed: Promise<void>;
  /** Ends at once, whatever is under way. */
  destroy(): void;
}
