import type { Messaging, TenantMessaging } from "@reins/host";
import type { Harness } from "@reins/supervisor";
import { Board } from "./board.ts";
import { giveCutOffMailBack, Mailbox } from "./mailbox.ts";

/** HAAK's mailboxes and boards for hosting: one of each per tenant. */
export function haakMessaging({
  home,
  store,
  redact,
}: Pick<Harness, "home" | "store" | "redact">): Messaging {
  const opened = new Map<string, TenantMessaging>();
  return {
    recover: async () => {
      await store.commit([giveCutOffMailBack]);
    },
    forTenant: (tenant) => {
      const messaging = opened.get(tenant) ?? {
        mailbox: new Mailbox({ home, tenant, store, redact }),
        board: new Board({ home, tenant }),
      };
      opened.set(tenant, messaging);
      return messaging;
    },
  };
}
