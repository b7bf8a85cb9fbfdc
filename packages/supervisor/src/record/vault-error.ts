/** Why something that was sealed cannot be had. */
export type VaultErrorCode =
  /** It was sealed with a key that is not the one of this home. */
  | "other_key"
  /** It was changed after it was sealed, or stands where something else was sealed. */
  | "damaged";

/** What was sealed cannot be opened; trying again does not help. */
export class VaultError extends Error {
  override readonly name = "VaultError";
  readonly code: VaultErrorCode;

  constructor(code: VaultErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
