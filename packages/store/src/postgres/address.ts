import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { errorMessage } from "@reins/kit/errors";
import { StoreError } from "../store-error.ts";

/** How to reach a database in PostgreSQL. Holds a password: show it by {@link shownAddress} only. */
export interface PostgresAddress {
  /** A name, an address, or the folder of a Unix socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string | undefined;
  readonly database: string;
  /** The schema that holds the tables; made if it is not there. */
  readonly schema: string;
  readonly tls: PostgresTls | undefined;
}

/** How the connection is encrypted. */
interface PostgresTls {
  /** Whether the server's certificate is checked, and against which authorities; those of Node without any. */
  readonly verify: boolean;
  readonly authorities: string | undefined;
  /** Whether the certificate must name the host. */
  readonly namesHost: boolean;
}

const SCHEME = /^postgres(?:ql)?:\/\//;
const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]", "::1"]);
const SSL_MODES = ["disable", "require", "verify-ca", "verify-full"] as const;
const KNOWN = new Set(["host", "user", "schema", "sslmode", "sslrootcert"]);

/** Whether a text names a database in PostgreSQL rather than a file. */
export function isPostgresAddress(text: string): boolean {
  return SCHEME.test(text);
}

interface AddressOptions {
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Where a relative path of `sslrootcert` begins; by default the current folder. */
  readonly folder?: string;
}

/**
 * Reads `postgres://user:password@host:5432/database?sslmode=verify-full&sslrootcert=ca.pem&schema=reins`. Without a
 * password `PGPASSWORD` counts, then the user's `.pgpass`. To anything but this machine the connection is encrypted and
 * the certificate checked unless `sslmode` says otherwise.
 */
export function readPostgresAddress(
  text: string,
  { environment = {}, folder = "" }: AddressOptions = {},
): PostgresAddress {
  const url = URL.parse(text);
  if (!url || !isPostgresAddress(text)) throw invalid("is none: write postgres://user@host:5432/database");
  // Quotes none of it: a password with characters that were not escaped may end up anywhere.
  const host = url.searchParams.get("host") ?? (decoded(url.hostname) || "localhost");
  const user = url.searchParams.get("user") ?? decoded(url.username);
  if (user === "") throw invalid("names no user: write postgres://user@host:5432/database");
  if ([...url.searchParams.keys()].some((name) => !KNOWN.has(name)))
    throw invalid(`has an unknown parameter; it can have ${[...KNOWN].join(", ")}`);
  const database = decoded(url.pathname.slice(1));
  if (database === "" || database.includes("/")) throw invalid("names no database: end it with /database");
  const schema = url.searchParams.get("schema") ?? "reins";
  if (!/^[a-z_][a-z0-9_]{0,50}$/.test(schema))
    throw invalid("names a schema that is not of small letters, digits and _");
  return {
    ...{ host, user, database, schema },
    port: url.port === "" ? 5432 : Number(url.port),
    password: decoded(url.password) || environment.PGPASSWORD || undefined,
    tls: readTls(url.searchParams, host, folder),
  };
}

/** An address as it may be logged: without its password. */
export function shownAddress({ host, port, user, database, schema }: PostgresAddress): string {
  const where = host.startsWith("/") ? `/${database}?host=${host}` : `${host}:${port}/${database}`;
  return `postgres://${encodeURIComponent(user)}@${where} (schema ${schema})`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw invalid('has a "%" that begins no escape; write it as %25');
  }
}

function readTls(parameters: URLSearchParams, host: string, folder: string): PostgresTls | undefined {
  const isHere = host.startsWith("/") || LOOPBACK.has(host);
  const given = parameters.get("sslmode") ?? (isHere ? "disable" : "verify-full");
  const mode = SSL_MODES.find((one) => one === given);
  if (!mode) throw invalid(`has an unknown sslmode; it can be ${SSL_MODES.join(", ")}`);
  const file = parameters.get("sslrootcert");
  if (mode === "disable") return undefined;
  return {
    verify: mode !== "require",
    namesHost: mode === "verify-full",
    authorities: file === null ? undefined : readAuthorities(resolve(folder, file)),
  };
}

function readAuthorities(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw invalid(`names a certificate that cannot be read: ${errorMessage(error)}`);
  }
}

/** Says nothing of the address itself, which may hold a password. */
function invalid(what: string): StoreError {
  return new StoreError("invalid", `the address of the store ${what}`);
}
