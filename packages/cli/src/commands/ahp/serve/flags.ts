import type { TlsFlags } from "../../../serving/tls.ts";

/** The flags of `reins ahp serve` as they were written. */
export interface ServeFlags extends TlsFlags {
  readonly verbose?: boolean;
  readonly handlers?: string;
  readonly home?: string;
  readonly stdio?: boolean;
  readonly http?: boolean;
  readonly ws?: boolean;
  readonly unix?: string;
  readonly host?: string;
  readonly port?: string;
  readonly path?: string;
  readonly token?: readonly string[];
  readonly allowHost?: readonly string[];
  readonly name?: string;
  readonly compat?: boolean;
  readonly requireHandshake?: boolean;
  readonly deadlineMs?: string;
  readonly maxDepth?: string;
  readonly batchSize?: string;
}
