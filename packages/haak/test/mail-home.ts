import { join } from "node:path";
import { KeyFolder, Ledger, ledgerTables } from "@reins/ledger";
import { openSqlite, type SqliteOptions, type Store } from "@reins/store";
import type { Subject } from "@reins/supervisor";
import { Mailbox, type MailboxOptions } from "../src/mail/mailbox.ts";
import { mailTables } from "../src/mail/tables.ts";

/** A mailbox on a real database in a folder, which can be reopened. */
export interface MailHome {
  readonly store: Store;
  readonly ledger: Ledger;
  readonly mailbox: Mailbox;
  close(): Promise<void>;
}

export async function openMailHome(
  home: string,
  { wrap, ...own }: Partial<MailboxOptions> & Pick<SqliteOptions, "wrap"> = {},
): Promise<MailHome> {
  const tables = [ledgerTables, mailTables];
  const store = await openSqlite({ path: join(home, "reins.db"), tables, ...(wrap && { wrap }) });
  const signers = new KeyFolder(join(home, "keys"));
  const ledger = await Ledger.open({ store, signers, newOrigin: () => "reins/mail" });
  const mailbox = new Mailbox({ home, tenant: "default", store, ...own });
  return {
    store,
    ledger,
    mailbox,
    async close() {
      await ledger.close();
      await store.close();
    },
  };
}

/** The store of a mailbox that only sends. */
export const noStore: MailboxOptions["store"] = {
  query: () => Promise.reject(new Error("there is no store")),
  commit: () => Promise.reject(new Error("there is no store")),
};

/** The subject of a turn. */
export function subjectOf(agent: string, difference: Partial<Subject> = {}): Subject {
  return {
    user: "ada",
    tenant: "default",
    roles: [],
    scopes: [],
    agent,
    trust: "registered",
    session: `session-of-${agent}`,
    started: "interactive",
    chain: [],
    depth: 0,
    mode: "default",
    enforcement: "asked",
    ...difference,
  };
}
