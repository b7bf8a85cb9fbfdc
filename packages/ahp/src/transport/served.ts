/** A server that listens somewhere. */
export interface Served {
  /** Where: `http://127.0.0.1:18789/ahp`, a socket's path, `stdio`. */
  readonly address: string;
  /** Settles when it has stopped, by {@link close} or because its input ended. */
  readonly closed: Promise<void>;
  /** Takes nothing new, lets what is under way finish for a while, then ends. May be called twice. */
  close(): Promise<void>;
}
