/** What went wrong with the ledger. */
type LedgerErrorCode =
  /** Input that cannot be an entry. */
  | "invalid"
  /** No such entry, key or artifact. */
  | "not_found"
  /** Not readable by this user. */
  | "unreadable"
  /** What is kept is not what was written. */
  | "corrupt"
  /** What is to be brought in contradicts what is there. */
  | "conflict";

/** An error of the ledger. A retry does not help. */
export class LedgerError extends Error {
  override readonly name = "LedgerError";
  readonly code: LedgerErrorCode;

  constructor(code: LedgerErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
