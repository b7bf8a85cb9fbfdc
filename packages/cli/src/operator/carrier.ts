/** A request as it travels. */
export interface CarriedRequest {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** With its query. */
  readonly path: string;
  /** Anything that JSON can hold. */
  readonly body?: unknown;
}

/** An answer as it came. */
export interface CarriedAnswer {
  readonly status: number;
  /** The value, where the answer is JSON; else the text, if there is any. */
  readonly body: unknown;
}

/** How to follow a stream of server-sent events. */
export interface FollowOptions {
  /** The id of the last event that was seen; without it, only what comes from now on. */
  readonly after?: string | undefined;
  /** Ends the stream. */
  readonly signal: AbortSignal;
}

/** A stream that was opened, or the answer that came instead. */
export type CarriedStream =
  | { readonly status: 200; readonly text: AsyncIterable<string> }
  | (CarriedAnswer & { readonly text?: undefined });

/** The way to a Reins. */
export interface Carrier {
  /** Where that Reins is, for messages. */
  readonly place: string;
  exchange(request: CarriedRequest): Promise<CarriedAnswer>;
  /** Opens a stream; absent where nothing runs that could send one. */
  follow?(path: string, options: FollowOptions): Promise<CarriedStream>;
}
