/** An invalid request to the bridge: a full queue, a worker that has ended, or a malformed fact. */
export class BridgeError extends Error {
  override readonly name = "BridgeError";
  readonly code: "queue_full" | "worker_ended" | "invalid";

  constructor(code: BridgeError["code"], message: string) {
    super(message);
    this.code = code;
  }
}
