import type { Ledger } from "@reins/ledger";
import type { Subject } from "@reins/supervisor";

/** The mail and the boards that agents share, as hosting uses them. `@reins/haak` has the ones of HAAK. */
export interface Messaging {
  /** Makes mail unread again that was in a turn when Reins stopped. Runs once, before any turn. */
  recover(): Promise<void>;
  /** Returns the mailbox and the board of a tenant. */
  forTenant(tenant: string): TenantMessaging;
}

/** The mailbox and the board of a tenant. */
export interface TenantMessaging {
  readonly mailbox: {
    send(message: AgentMessage & { readonly from: string }): Promise<void>;
    /** Returns unread messages to an agent, oldest first, without marking them. */
    unreadFor(agent: string): Promise<readonly Record<"from" | "subject" | "body" | "timestamp", string>[]>;
    /** Records unread messages and takes them for a turn, so that no other turn has them. */
    injectUnread(subject: Subject, ledger: Pick<Ledger, "record">): Promise<TurnMail>;
  };
  readonly board: {
    /** Returns the last lines, oldest first. */
    read(lines?: number): Promise<string[]>;
    /** Returns the lines for a preamble. A file that cannot be read is a fault, not an error. */
    excerpt(): Promise<BoardExcerpt>;
    post(author: string, content: string): Promise<void>;
  };
}

/** A message that an agent sends. */
interface AgentMessage {
  readonly to: string;
  readonly subject: string;
  readonly body: string;
}

/** The mail of a turn. */
export interface TurnMail {
  /** The text that goes before the prompt; `undefined` if there is no mail. */
  readonly text: string | undefined;
  /** The content ids of its ledger entries. */
  readonly entries: readonly string[];
  /** What is wrong with the mailbox. A mailbox that cannot be read is a fault, not an error. */
  readonly faults: readonly string[];
  /** Marks the mail as read if the agent got it, and as unread otherwise. */
  settle(outcome: { readonly delivered: boolean }): Promise<void>;
}

export interface BoardExcerpt {
  readonly lines: readonly string[];
  readonly faults: readonly string[];
}

/** A turn without mail. */
export const NO_MAIL: TurnMail = {
  text: undefined,
  entries: [],
  faults: [],
  settle: () => Promise.resolve(),
};
