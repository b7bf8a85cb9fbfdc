/** A file that holds a secret and cannot be trusted with it; trying again does not help. */
export class AccessError extends Error {
  override readonly name = "AccessError";
  readonly code: "exposed" | "damaged";
  readonly retryable = false;

  constructor(code: AccessError["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
