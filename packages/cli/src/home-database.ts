import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { errorMessage } from "@reins/kit";
import {
  isPostgresAddress,
  type Operations,
  openPostgres,
  openPostgresReader,
  openSqlite,
  openSqliteReader,
  type PostgresAddress,
  readPostgresAddress,
  type Store,
  StoreError,
  type StoreLoss,
  type StoreNode,
  type StoreReader,
  shownAddress,
  type Tables,
} from "@reins/store";
import { z } from "zod";
import { CliError, EXIT } from "./errors.ts";
import { CONFIGURATION_FILE, readYamlFile } from "./files.ts";
import { databaseIn, privateDatabase, realDatabase } from "./home.ts";

type TablesOfStore = readonly Tables<Operations, Operations>[];

/** Only what says where the state is: other faults of the file are for the commands that use the rest. */
const StoreSettings = z.looseObject({
  store: z.string().min(1).optional(),
  db: z.string().min(1).optional(),
});

/** Notes how far the database in PostgreSQL had come, and so that the state of this home is there. */
export function postgresMarkIn(home: string): string {
  return join(home, "postgres.mark");
}

/**
 * The database in PostgreSQL that holds the state of a home, by `REINS_STORE`, else by `store` of its `reins.yaml`;
 * `undefined` where SQLite does.
 */
export async function postgresOf(
  home: string,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<PostgresAddress | undefined> {
  if (environment.REINS_STORE) return readAddress(environment.REINS_STORE, "REINS_STORE", { environment });
  const path = join(home, CONFIGURATION_FILE);
  const { store, db } = await readYamlFile(path, StoreSettings);
  if (store !== undefined && db !== undefined)
    throw new CliError(`${path} sets both store and db, which name two databases.`, {
      next: "Remove db for PostgreSQL, or store for SQLite.",
    });
  if (store !== undefined) return readAddress(store, `store in ${path}`, { environment, folder: home });
  if (existsSync(postgresMarkIn(home)) && !existsSync(databaseIn(home)))
    throw new CliError(`The state of ${home} is in PostgreSQL, and nothing says where.`, {
      next: `Set REINS_STORE, or store in ${path}. To begin anew, remove ${postgresMarkIn(home)}.`,
    });
  return undefined;
}

/** Reads an address that a user wrote; `@path` reads it from a file. Says nothing of its content, which may be secret. */
export async function readAddress(
  text: string,
  source: string,
  { environment = process.env, folder = "" }: { environment?: NodeJS.ProcessEnv; folder?: string } = {},
): Promise<PostgresAddress> {
  const next = "Give one such as postgres://user@host:5432/database; docs/scale.md describes them.";
  try {
    const address = text.startsWith("@") ? await readFile(resolve(folder, text.slice(1)), "utf8") : text;
    if (!isPostgresAddress(address)) throw new StoreError("invalid", "it does not begin with postgres://");
    return readPostgresAddress(address.trim(), { environment, folder });
  } catch (error) {
    throw new CliError(`${source} cannot be used: ${errorMessage(error)}`, { next, cause: error });
  }
}

/** Whether a home has a database; one in PostgreSQL may have yet to be made. */
export async function hasDatabase(home: string, environment?: NodeJS.ProcessEnv): Promise<boolean> {
  return (await postgresOf(home, environment)) !== undefined || existsSync(databaseIn(home));
}

/** Opens the database of a home for reading, also while a server writes to it. */
export async function openHomeReader(
  home: string,
  tables: TablesOfStore,
  environment?: NodeJS.ProcessEnv,
): Promise<StoreReader> {
  const address = await postgresOf(home, environment);
  return address ? openPostgresReader(address, tables) : openSqliteReader(databaseIn(home), tables);
}

/** Opens the database of a home for writing, in the place of a server. */
export async function openHomeDatabase(home: string, tables: TablesOfStore): Promise<Store> {
  const address = await postgresOf(home);
  if (address) return openHomePostgres({ home, address, tables });
  return openSqlite({ path: await privateDatabase(await realDatabase(home)), tables });
}

interface HomePostgres {
  readonly home: string;
  readonly address: PostgresAddress;
  readonly tables: TablesOfStore;
  /** What this process is among several on the database; without it, it has that to itself. */
  readonly node?: StoreNode | undefined;
  readonly acceptLoss?: boolean;
  readonly onLoss?: (loss: StoreLoss) => void;
}

/** Refuses a second server on the same database, and one that would begin anew beside the state that a home has. */
export async function openHomePostgres({ home, address, node, ...options }: HomePostgres): Promise<Store> {
  if (existsSync(databaseIn(home)) && (await isNew(address, options.tables)))
    throw new CliError(
      `${home} has its state in ${databaseIn(home)}, and ${shownAddress(address)} is empty.`,
      {
        next: `Copy it: reins store copy ${home} <address>. To begin anew instead, move ${databaseIn(home)} away.`,
      },
    );
  try {
    return await openPostgres({ address, mark: postgresMarkIn(home), ...options, ...(node && { node }) });
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== "locked") throw error;
    throw new CliError(`Another Reins uses the database: ${error.message}.`, {
      next: "Without node in reins.yaml one Reins at a time can use a database, and each node has a name of its own. Stop the other one; if it died, this works within 10 seconds.",
      exitCode: EXIT.taken,
      cause: error,
    });
  }
}

async function isNew(address: PostgresAddress, tables: TablesOfStore): Promise<boolean> {
  try {
    await (await openPostgresReader(address, tables)).close();
    return false;
  } catch (error) {
    if (error instanceof StoreError && error.code === "older") return true;
    throw error;
  }
}
