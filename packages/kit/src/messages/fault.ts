/** A line that is not a message, or that the listener failed on. It is skipped. */
export interface MessageFault {
  readonly kind: /** Longer than a line may be. */
    | "line_too_long"
    /** Not UTF-8, not JSON, or not an object. */
    | "not_a_message"
    /** The listener failed. */
    | "listener_failed";
  /** The beginning of the line, shortened. */
  readonly excerpt: string;
  /** The id of the request, where it is known. */
  readonly id?: string | number | undefined;
  readonly cause?: unknown;
}
