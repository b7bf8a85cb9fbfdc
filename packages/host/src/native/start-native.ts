import { join } from "node:path";
import {
  DefaultControl,
  FileSessionStore,
  type HostServices,
  modelConfigFrom,
  modelsFrom,
  NativeAgent,
} from "@reins/agent";
import type { Harness, Principal } from "@reins/supervisor";
import { channelPair } from "../acp/channel.ts";
import type { AgentEntry } from "../agents/agent-entry.ts";
import { Board } from "../board/board.ts";
import { subjectIn } from "../governor/context.ts";
import { Governor, type GovernorOptions } from "../governor/governor.ts";
import { Mailbox } from "../mail/mailbox.ts";
import { GovernedControl } from "./governed-control.ts";

/** What the native agent is started with. */
export interface NativeOptions {
  readonly harness: Harness;
  readonly entry: AgentEntry;
  readonly principal: Principal;
  /** Names the model, and holds its key. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly governor: Pick<
    GovernorOptions,
    "from" | "clients" | "redact" | "redactor" | "servers" | "preparation" | "showReplays" | "onFault"
  >;
}

/** Starts the native agent in this process, behind a governor: there is no other way to run it. */
export function startNative({ harness, entry, principal, environment, governor: rest }: NativeOptions): {
  readonly governor: Governor;
  stop(reason: string): Promise<void>;
} {
  const { home } = harness;
  const { tenant, user } = principal;
  const onFault = rest.onFault ?? (() => undefined);
  const [ours, theirs, close] = channelPair();
  const governor = new Governor({
    ...rest,
    harness,
    entry,
    launch: { mode: undefined, configOptions: {}, meta: {}, strip: [] },
    channel: ours,
    principal,
    enforcement: "performed",
    asksOfPrompts: true,
  });
  const agent = new NativeAgent(theirs, {
    store: new FileSessionStore(join(home, "homes", tenant, user, principal.id, entry.id)),
    models: modelsFrom(modelConfigFrom(environment)),
    control: new GovernedControl({
      governor: () => governor,
      harness,
      tenant,
      defaults: new DefaultControl(),
      onFault,
    }),
    services: servicesOf(harness, principal, entry, rest.redact),
    mayUse: (tool, id) => {
      const session = governor.sessionOf(id);
      if (!session) return false;
      return harness.supervisor.mayUse(tool, subjectIn({ harness, principal, entry }, session, "performed"));
    },
    onFault: (fault) => onFault(String(fault)),
  });
  const stop = async (reason: string) => {
    await governor.close(reason);
    await agent.close(reason);
    close(new Error(reason));
  };
  return { governor, stop };
}

/** Mail and board, in the name of the agent itself. */
function servicesOf(
  { home, store }: Harness,
  { tenant }: Principal,
  { id }: AgentEntry,
  redact: (value: unknown) => unknown,
): HostServices {
  const mailbox = new Mailbox({ home, tenant, store, redact });
  const board = new Board({ home, tenant });
  return {
    mail: {
      send: async (_, message) => void (await mailbox.send({ from: id, ...message })),
      unread: async () => {
        const unread = await mailbox.unreadFor(id);
        return unread.map(({ from, subject, body, timestamp }) => ({
          from: from ?? "unknown",
          subject: subject ?? "",
          body: body ?? "",
          timestamp: timestamp ?? "",
        }));
      },
    },
    board: {
      read: (_, lines) => board.read(lines),
      post: async (_, content) => void (await board.post(id, content)),
    },
  };
}
