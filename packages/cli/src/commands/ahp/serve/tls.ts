import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { HttpOptions } from "@reins/ahp";
import { CliError } from "../../../errors/cli-error.ts";
import { textOf } from "../../../errors/render.ts";
import type { ServeFlags } from "./flags.ts";

/** The certificate and key that the flags name, checked; absent when they name none. */
export function readTls({ tlsCert, tlsKey }: ServeFlags): HttpOptions["tls"] {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert !== undefined && tlsKey !== undefined) {
    return usable({ cert: readPem(tlsCert, "--tls-cert"), key: readPem(tlsKey, "--tls-key") });
  }
  throw new CliError("TLS needs a certificate and its key.", { next: "Give both --tls-cert and --tls-key." });
}

function usable(tls: { cert: Buffer; key: Buffer }) {
  try {
    createSecureContext(tls);
    return tls;
  } catch (error) {
    throw new CliError(`The certificate or its key cannot be used: ${textOf(error)}`, {
      next: "Give both in PEM, and the key that belongs to the certificate.",
      cause: error,
    });
  }
}

function readPem(path: string, flag: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new CliError(`${flag} cannot be read: ${textOf(error)}`, { next: "Check the path.", cause: error });
  }
}
