/** What can go wrong between a host and an agent. */
export type BridgeErrorCode = "queue_full" | "worker_ended" | "invalid";

/** Something a host or an agent asked for that the bridge does not do. Trying again later helps only with a full queue. */
export class BridgeError extends Error {
  override readonly name = "BridgeError";
  readonly code: BridgeErrorCode;

  constructor(code: BridgeErrorCode, message: string) {
    super(message);
    this.code = code;
  }

  /** Whether the same may work later. */
  get isRetryable(): boolean {
    return this.code === "queue_full";
  }
}
