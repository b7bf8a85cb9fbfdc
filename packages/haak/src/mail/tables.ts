import type { Tables } from "@reins/store";

/** Messages that an agent has read. */
export interface ReadMarks {
  /** The tenant of the mailbox. */
  readonly mailbox: string;
  readonly agent: string;
  readonly messages: readonly string[];
}

export type MailChanges = {
  /** Takes messages for a turn. Conflicts if one of them is read or in a turn. */
  take(args: ReadMarks & { readonly at: string }): undefined;
  /** Marks messages as read. Idempotent. */
  mark(args: ReadMarks & { readonly at: string }): undefined;
  /** Makes messages unread again whose turn did not deliver them. */
  release(args: ReadMarks): undefined;
  /** Releases the messages of every turn, after a stop. */
  releaseAll(args: object): undefined;
};

export type MailQueries = {
  /** The messages that the agent has read. */
  readAmong(args: ReadMarks): string[];
  /** The messages that the agent has read or that are in one of its turns. */
  takenAmong(args: ReadMarks): string[];
};

/** Read marks. The mailbox itself is a file of other programs and is never rewritten. */
export const mailTables: Tables<MailChanges, MailQueries> = {
  name: "mail",
  module: new URL("./module.ts", import.meta.url),
};
