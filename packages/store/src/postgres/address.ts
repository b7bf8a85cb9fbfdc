import { readFileSync } from "node:fs";
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

/**
 * Reads `postgres://user:password@host:5432/database?sslmode=verify-full&sslrootcert=ca.pem&schema=reins`. Without a
 * password `PGPASSWORD` counts, then the user's `.pgpass`. To anything but this machine the connection is encrypted and
 * the certificate checked unless `sslmode` says otherwise.
 */
export function readPostgresAddress(
  text: string,
  environment: Readonly<Record<string, string | undefined>> = {},
): PostgresAddress {
  const url = URL.parse(text);
  if (!url || !isPostgresAddress(text)) throw invalid("is none: write postgres://user@host:5432/database");
  const unknown = [...url.searchParams.keys()].find((name) => !KNOWN.has(name));
  if (unknown !== undefined) throw invalid(`has an unknown parameter "${unknown}"`);
  const host = url.searchParams.get("host") ?? (decodeURIComponent(url.hostname) || "localhost");
  const user = url.searchParams.get("user") ?? decodeURIComponent(url.username);
  if (user === "") throw invalid("names no user: write postgres://user@host:5432/database");
  const database = decodeURIComponent(url.pathname.slice(1));
  if (database === "" || database.includes("/")) throw invalid("names no database: end it with /database");
  const schema = url.searchParams.get("schema") ?? "reins";
  if (!/^[a-z_][a-z0-9_]{0,50}$/.test(schema))
    throw invalid("names a schema that is not of small letters, digits and _");
  return {
    ...{ host, user, database, schema },
    port: url.port === "" ? 5432 : Number(url.port),
    password: decodeURIComponent(url.password) || environment.PGPASSWORD || undefined,
    tls: readTls(url.searchParams, host),
  };
}

/** An address as it may be logged: without its password. */
export function shownAddress({ host, port, user, database, schema }: PostgresAddress): string {
  const where = host.startsWith("/") ? `/${database}?host=${host}` : `${host}:${port}/${database}`;
  return `postgres://${encodeURIComponent(user)}@${where} (schema ${schema})`;
}

function readTls(parameters: URLSearchParams, host: string): PostgresTls | undefined {
  const isHere = host.startsWith("/") || LOOPBACK.has(host);
  const given = parameters.get("sslmode") ?? (isHere ? "disable" : "verify-full");
  const mode = SSL_MODES.find((one) => one === given);
  if (!mode) throw invalid(`has sslmode "${given}"; it can be ${SSL_MODES.join(", ")}`);
  const file = parameters.get("sslrootcert");
  if (mode === "disable") return undefined;
  return {
    verify: mode !== "require",
    namesHost: mode === "verify-full",
    authorities: file === null ? undefined : readAuthorities(file),
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
