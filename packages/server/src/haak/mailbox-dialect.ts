import { mailboxOperations } from "@reins/api";
import type { Mailbox, Message } from "@reins/host";
import type { Harness, Principal } from "@reins/supervisor";
import type { Dialect } from "../dialect/dialect.ts";
import { shared } from "./shared.ts";

const LIMIT = 100;
const mailboxes = new WeakMap<Harness, Map<string, Mailbox>>();

/** The mail of agents, for the people who look after them. */
export const mailboxDialect: Dialect = {
  name: "mailbox",
  mount(place) {
    place.governed(mailboxOperations.listMail, ({ harness, principal, query: { agent, limit = LIMIT } }) =>
      shared(async () => {
        const mailbox = await mailboxOf(harness, principal);
        const all = await mailbox.list();
        const asked = agent === undefined ? all : all.filter((message) => concerns(message, agent));
        const messages = asked.slice(-limit).map(told);
        return { messages, faults: await mailbox.faults() };
      }),
    );
    place.governed(mailboxOperations.sendMail, ({ harness, principal, supervisor, body }) =>
      shared(async () => {
        const mailbox = await mailboxOf(harness, principal);
        await mailbox.send({ from: supervisor.actorOf(principal), ...body });
        return undefined;
      }),
    );
    place.governed(mailboxOperations.listUnreadMail, (call) =>
      shared(async () => {
        const { harness, principal, params, query } = call;
        const mailbox = await mailboxOf(harness, principal);
        const unread = await mailbox.unreadFor(params.agent);
        const messages = unread.slice(0, query.limit ?? LIMIT).map(told);
        return { messages, faults: await mailbox.faults() };
      }),
    );
    place.governed(mailboxOperations.markMailRead, ({ harness, principal, params, body }) =>
      shared(async () => {
        const mailbox = await mailboxOf(harness, principal);
        await harness.store.commit([mailbox.markRead(params.agent, body.messages)]);
        return undefined;
      }),
    );
  },
};

async function mailboxOf(harness: Harness, { tenant }: Principal): Promise<Mailbox> {
  const { Mailbox: Made } = await import("@reins/host");
  const { home, store } = harness;
  const ofTenant = mailboxes.get(harness) ?? new Map<string, Mailbox>();
  mailboxes.set(harness, ofTenant);
  const mailbox = ofTenant.get(tenant) ?? new Made({ home, tenant, store });
  ofTenant.set(tenant, mailbox);
  return mailbox;
}

function concerns({ from, to }: Message, agent: string): boolean {
  return from === agent || to.includes(agent);
}

function told({ id, from, to, subject, body, timestamp }: Message): object {
  return { id, from, to, subject, body, timestamp };
}
