import type { Tables } from "@reins/store";

/** Messages that an agent has read. */
export interface ReadMarks {
  /** The mailbox, by the tenant whose it is. */
  readonly mailbox: string;
  readonly agent: string;
  readonly messages: readonly string[];
}

/** What the mailbox keeps in the store. */
export type MailChanges = {
  /** Takes messages for a turn. Undoes the commit when one of them was read before, or is in a turn. */
  take(args: ReadMarks & { readonly at: string }): undefined;
  /** Marks messages as read, whether or not they were. */
  mark(args: ReadMarks & { readonly at: string }): undefined;
  /** Makes messages unread again that were taken for a turn which did not deliver them. */
  giveBack(args: ReadMarks): undefined;
  /** The same for every turn that a stop has cut off. */
  giveAllBack(args: object): undefined;
};

/** What it reads from it. */
export type MailQueries = {
  /** Those of the messages that the agent has read. */
  readAmong(args: ReadMarks): string[];
  /** Those that it has read or that are in a turn of it. */
  takenAmong(args: ReadMarks): string[];
};

/** Which messages were read. The mailbox itself is a file that others write to, and stays as they wrote it. */
export const mailTables: Tables<MailChanges, MailQueries> = {
  name: "mail",
  module: new URL("./module.ts", import.meta.url),
};
