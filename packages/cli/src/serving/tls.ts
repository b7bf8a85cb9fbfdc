import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { createSecureContext } from "node:tls";
import { errorMessage } from "@reins/kit";
import { CliError } from "../errors.ts";

export interface TlsFlags {
  readonly tlsCert?: string | undefined;
  readonly tlsKey?: string | undefined;
}

interface TlsConfiguration {
  readonly home: string;
  readonly tls: Readonly<Record<"cert" | "key", string>> | undefined;
}

/** A file and the flag or setting that named it. */
interface NamedFile {
  readonly path: string;
  readonly from: string;
}

export interface TlsFiles {
  readonly cert: NamedFile | undefined;
  readonly key: NamedFile | undefined;
}

export interface TlsPair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Paths in flags start at the current folder, those of `reins.yaml` at the home. */
export function tlsFiles({ tlsCert, tlsKey }: TlsFlags, file?: TlsConfiguration): TlsFiles {
  const namedFile = (flag: string, said: string | undefined, name: "cert" | "key"): NamedFile | undefined => {
    if (said !== undefined) return { path: resolve(said), from: flag };
    return file?.tls && { path: resolve(file.home, file.tls[name]), from: `tls.${name} in reins.yaml` };
  };
  return { cert: namedFile("--tls-cert", tlsCert, "cert"), key: namedFile("--tls-key", tlsKey, "key") };
}

/** Reads a certificate and its key and checks that they match; undefined when neither was named. */
export function readTls({ cert, key }: TlsFiles): TlsPair | undefined {
  if (cert && key) return usable({ cert: read(cert), key: read(key) });
  const alone = cert ?? key;
  if (!alone) return undefined;
  throw new CliError(`TLS needs a certificate and its key, but only ${alone.from} is given.`, {
    next: "Give both: --tls-cert and --tls-key, or cert and key under tls in reins.yaml.",
  });
}

function usable(pair: TlsPair): TlsPair {
  try {
    createSecureContext({ ...pair });
    return pair;
  } catch (error) {
    throw new CliError(`The certificate or its key cannot be used: ${errorMessage(error)}`, {
      next: "Give both in PEM, and the key that belongs to the certificate.",
      cause: error,
    });
  }
}

function read({ path, from }: NamedFile): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new CliError(`${from} cannot be read: ${errorMessage(error)}`, {
      next: "Check the path.",
      cause: error,
    });
  }
}
