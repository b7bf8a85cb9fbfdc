import type { Messaging, TenantMessaging } from "@reins/host";
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
      const messaging = opened.get(tenant) ?? {
        mailbox: new Mailbox({ home, tenant, store, redact }),
        board: new Board({ home, tenant }),
      };
      opened.set(tenant, messaging);
      return messaging;
    },
  };
}
