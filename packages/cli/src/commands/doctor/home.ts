import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { ledgerTables } from "@reins/ledger";
import {
  examineSqlite,
  openPostgresReader,
  type PostgresAddress,
  StoreError,
  shownAddress,
} from "@reins/store";
import { approvalTables, Vault } from "@reins/supervisor";
import { isNotFound } from "../../errors.ts";
import { databaseIn, keysIn, operatorSocketIn, realDatabase } from "../../home.ts";
import { hasDatabase, openHomeReader, postgresMarkIn, postgresOf } from "../../home-database.ts";
import { ACCEPT_LOSS } from "../../ledger/ledger-error.ts";
import { isServed } from "../../serving/listen.ts";
import { type Check, type Finding, fine, note, wrong } from "./doctor.ts";

const OTHERS = 0o077;

export const homeCheck: Check = async ({ home }) => [
  await privateFolder(home, () =>
    note(`${home} does not exist yet`, "reins up creates it on its first start."),
  ),
];

export const keysCheck: Check = async ({ home }) => [
  await privateFolder(keysIn(home), () =>
    existsSync(databaseIn(home)) || existsSync(postgresMarkIn(home))
      ? wrong(
          "the ledger is here without its signing keys: nothing can be added to it",
          `Restore ${keysIn(home)} from a backup, or use another home: --home <folder>`,
        )
      : note("no keys yet", "They are created on the first start: reins up"),
  ),
];

async function privateFolder(path: string, absent: () => Finding): Promise<Finding> {
  try {
    const found = await stat(path);
    const { mode, uid } = found;
    if (!found.isDirectory())
      return wrong(`${path} is not a folder`, "Choose another home, with --home <folder> or REINS_HOME.");
    if (process.getuid && uid !== process.getuid())
      return wrong(
        `${path} belongs to another user`,
        `Run as the user it belongs to, or: chown -R $USER ${path}`,
      );
    if (process.platform !== "win32" && (mode & OTHERS) !== 0)
      return wrong(`other users may read ${path}`, `Make it private: chmod 700 ${path}`);
    return fine(`${path} is private`);
  } catch (error) {
    if (isNotFound(error)) return absent();
    throw error;
  }
}

export const databaseCheck: Check = async ({ home }) => {
  const postgres = await postgresOf(home);
  if (postgres) return [await postgresFinding(postgres)];
  const path = await realDatabase(home);
  if (!existsSync(path) && !existsSync(`${path}.mark`)) return [];
  // A running server writes meanwhile, which would look like damage; it checked at its start.
  if (await isServed(operatorSocketIn(home))) return [];
  const { losses, isSummed } = examine(path);
  if (losses.length === 0)
    return [fine(isSummed ? "everything that was written is present" : "nothing is known to be missing")];
  return losses.map(({ kind, text }) =>
    kind === "rolled_back" || kind === "damaged"
      ? wrong(text, ACCEPT_LOSS)
      : note(text, "The next start records it in the ledger: reins up"),
  );
};

async function postgresFinding(address: PostgresAddress): Promise<Finding> {
  try {
    await (await openPostgresReader(address, [ledgerTables])).close();
    return fine(`the state is in ${shownAddress(address)}`);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    if (error.code === "older") return note(error.message, "reins up makes it, or brings it up to date.");
    return wrong(
      `${error.message}; nothing is allowed meanwhile`,
      "Check that PostgreSQL runs, and REINS_STORE or store in reins.yaml. Reins goes on by itself when it answers.",
    );
  }
}

/** A database that cannot be read at all is damaged too. */
function examine(path: string): ReturnType<typeof examineSqlite> {
  try {
    return examineSqlite(path);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return { losses: [{ kind: "damaged", text: error.message }], isSummed: false };
  }
}

export const vaultCheck: Check = async ({ home }) => {
  if (!(await hasDatabase(home))) return [];
  const known = await keyNames(home);
  const lost = (await sealedIn(home)).filter(({ key }) => !known.includes(key));
  if (lost.length === 0) return known.length === 0 ? [] : [fine("the sealed content can be opened")];
  return lost.map(({ key, count }) =>
    wrong(
      `${count} approvals and grants were sealed with the key ${key}, which is missing, and have no effect`,
      `Restore ${join(keysIn(home), "vault.key")} from a backup, or let agents ask again.`,
    ),
  );
};

/** Creates no key where there is none: a doctor changes nothing. */
async function keyNames(home: string): Promise<readonly string[]> {
  if (!existsSync(join(keysIn(home), "vault.key"))) return [];
  const { keyId, formerKeys } = await Vault.open(keysIn(home));
  return [keyId, ...formerKeys];
}

async function sealedIn(home: string): Promise<{ readonly key: string; readonly count: number }[]> {
  try {
    const store = await openHomeReader(home, [approvalTables]);
    try {
      return await store.query(approvalTables, "sealedWith", null);
    } finally {
      await store.close();
    }
  } catch (error) {
    // A database that the next start has to migrate holds nothing sealed yet; of one out of reach its own check speaks.
    if (error instanceof StoreError && ["older", "unavailable"].includes(error.code)) return [];
    throw error;
  }
}
