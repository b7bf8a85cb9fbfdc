import type { ParsedJson } from "../json/parse.ts";

/** How long a call may take, and what ends it early. */
export interface CallOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Sends a request and gives back the response to it, read but not yet checked. */
export type SendRequest = (id: string, text: string, options: CallOptions) => Promise<ParsedJson>;

/**
 * How a client's messages travel. Everything that goes wrong is an {@link AhpError}, except an abort, which rejects
 * with the signal's reason.
 */
export interface ClientTransport {
  /** Sends a request and waits for its response; many may be under way at once. */
  readonly request: SendRequest;
  /** Sends a notification; settles when it is on its way, over HTTP when it was taken. */
  notify(text: string, options: CallOptions): Promise<void>;
  /** Sets what is done on every new connection before anything else is sent on it. */
  onReconnect(greet: (request: SendRequest) => Promise<void>): void;
  /** Shows the session that later requests belong to, where the transport has a place for it. */
  useSession(token: string): void;
  /** Ends the connection; what waits for an answer fails. May be called twice. */
  close(): Promise<void>;
}
