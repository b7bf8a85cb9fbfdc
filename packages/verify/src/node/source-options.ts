import type { VerifyOptions } from "../options.ts";

/** What a verification may need to get at a ledger. */
export interface SourceOptions extends VerifyOptions {
  /** Sent as a bearer token when the source is a URL. */
  readonly token?: string | undefined;
}
