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
  /** Marks messages as read that were put into a turn. Undoes the commit when one of them was read before. */
  inject(args: ReadMarks & { readonly at: string }): undefined;
  /** Marks messages as read, whether or not they were. */
  mark(args: ReadMarks & { readonly at: string }): undefined;
};

/** What it reads from it. */
export type MailQueries = {
  /** Those of the messages that the agent has read. */
  readAmong(args: ReadMarks): string[];
};

/** Which messages were read. The mailbox itself is a file that others write to, and stays as they wrote it. */
export const mailTables: Tables<MailChanges, MailQueries> = {
  name: "mail",
  module: new URL("./module.ts", import.meta.url),
};
