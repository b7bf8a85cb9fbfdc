import { statSync } from "node:fs";
import { type Messaging, NO_MAIL, type TenantMessaging } from "@reins/host";
import type { Harness } from "@reins/supervisor";
import { Board } from "./board.ts";
import { Mailbox, releaseInterruptedMail } from "./mailbox.ts";

/** HAAK's mailbox and board for hosting: one of each per tenant. */
export function haakMessaging({
  home,
  store,
  redact,
}: Pick<Harness, "home" | "store" | "redact">): Messaging {
  const opened = new Map<string, TenantMessaging>();
  return {
    recover: async () => {
      await store.commit([releaseInterruptedMail]);
    },
    forTenant: (tenant) => {
      const messaging =
        opened.get(tenant) ??
        tenantMessaging(new Mailbox({ home, tenant, store, redact }), new Board({ home, tenant }));
      opened.set(tenant, messaging);
      return messaging;
    },
  };
}

const NO_EXCERPT = { lines: [], faults: [] };

/** Most tenants have neither file: then a turn reads neither. */
function tenantMessaging(mailbox: Mailbox, board: Board): TenantMessaging {
  return {
    mailbox: {
      send: (message) => mailbox.send(message),
      unreadFor: (agent) => mailbox.unreadFor(agent),
      injectUnread: async (subject, ledger) =>
        isAbsent(mailbox.path) ? NO_MAIL : mailbox.injectUnread(subject, ledger),
    },
    board: {
      read: (lines) => board.read(lines),
      excerpt: async () => (isAbsent(board.path) ? NO_EXCERPT : board.excerpt()),
      post: (author, content) => board.post(author, content),
    },
  };
}

/** A path that cannot be checked is not absent: reading it reports why. */
function isAbsent(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}
