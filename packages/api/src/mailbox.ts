import { z } from "zod";
import { operation } from "./operation.ts";
import { LongLimit, Name, named, PageLimit, PathName } from "./schema.ts";

/** A message from one agent, or person, to others. Its content is its author's claim. */
export const MailMessage = named(
  "MailMessage",
  z.looseObject({
    id: z.string().describe("unique in the mailbox"),
    from: z.string(),
    to: z.array(z.string()),
    subject: z.string(),
    body: z.string(),
    timestamp: z.string(),
  }),
);
export type MailMessage = z.infer<typeof MailMessage>;

/** What a mailbox holds. */
const Mail = named(
  "Mail",
  z.looseObject({
    messages: z.array(MailMessage).describe("oldest first"),
    faults: z.array(z.string()).describe("lines that could not be read"),
  }),
);

/** A message to be sent; its author is the sender. */
const NewMail = named(
  "NewMail",
  z.strictObject({
    to: Name.describe("the agent"),
    subject: z.string().max(1_024).default(""),
    body: z.string().min(1).max(65_536),
  }),
);

/** Messages that an agent need not receive any more. */
const ReadMail = named(
  "ReadMail",
  z.strictObject({
    messages: z.array(z.string().min(1).max(256)).min(1).max(1_000).describe("their ids"),
  }),
);

/** The mailbox and the board are files that others write to as well: they may be full, or lead elsewhere. */
const problems = ["conflict"] as const;

/** Operations on mail. */
export const mailboxOperations = {
  listMail: operation({
    id: "list_mail",
    method: "GET",
    path: "/v1/mailbox",
    summary: "Lists the newest messages of the caller's tenant, oldest first.",
    audience: "person",
    query: z.strictObject({
      agent: Name.optional().describe("only those to or from this agent"),
      limit: LongLimit,
    }),
    answer: Mail,
    problems,
  }),
  sendMail: operation({
    id: "send_mail",
    method: "POST",
    path: "/v1/mailbox",
    summary: "Sends a message to an agent, which gets it with its next turn.",
    audience: "person",
    body: NewMail,
    problems,
  }),
  listUnreadMail: operation({
    id: "list_unread_mail",
    method: "GET",
    path: "/v1/mailbox/{agent}",
    summary: "Lists the messages to an agent that it has not read. Marks none of them.",
    audience: "person",
    params: z.strictObject({ agent: PathName }),
    query: z.strictObject({ limit: LongLimit }),
    answer: Mail,
    problems,
  }),
  markMailRead: operation({
    id: "mark_mail_read",
    method: "POST",
    path: "/v1/mailbox/{agent}/read",
    summary: "Marks messages as read by an agent, so that it does not receive them.",
    audience: "admin",
    params: z.strictObject({ agent: PathName }),
    body: ReadMail,
    problems,
  }),
} as const;

/** The end of the board. */
const BoardExcerpt = named(
  "BoardExcerpt",
  z.looseObject({ lines: z.array(z.string()).describe("oldest first") }),
);

/** A post; it carries the name of its author. */
const NewPost = named("NewPost", z.strictObject({ content: z.string().min(1).max(65_536) }));

/** Operations on the board. */
export const boardOperations = {
  showBoard: operation({
    id: "show_board",
    method: "GET",
    path: "/v1/board",
    summary: "Returns the last lines of the board of the caller's tenant.",
    audience: "principal",
    query: z.strictObject({ lines: PageLimit }),
    answer: BoardExcerpt,
    problems,
  }),
  postBoard: operation({
    id: "post_board",
    method: "POST",
    path: "/v1/board",
    summary: "Posts a line with its author and time for everyone.",
    audience: "person",
    body: NewPost,
    problems,
  }),
} as const;
