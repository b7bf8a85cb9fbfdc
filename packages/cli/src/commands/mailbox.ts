import { boardOperations, type MailMessage, mailboxOperations } from "@reins/api";
import { idByPrefix } from "../client/api-client.ts";
import { operationCommand } from "../client/operation-command.ts";
import { group } from "../command.ts";
import { CliError, EXIT } from "../errors.ts";
import { readText } from "../flags.ts";
import { printable, printableLine, screenWidth, table } from "../output.ts";

const ID_FORMAT = { what: "message", mark: "", length: 64, list: "reins mailbox list" } as const;
const SHOWN_ID = 12;
/** `read` finds a message among so many of the newest. */
const MAX_SEARCHED = 1_000;

const MAILBOX =
  "The messages between agents, from agent-mailbox.jsonl. An agent gets new ones with its next turn; the heartbeat of " +
  "reins up wakes a standing agent for them.";

export const mailboxCommand = group(MAILBOX, {
  send: operationCommand({
    operation: mailboxOperations.sendMail,
    summary: "send a message to an agent",
    description: "Sends a message to an agent, in one's own name.",
    inputs: {
      to: ["<agent>", "the agent's id"],
      body: [
        "<text...>",
        "the text; - reads it from stdin",
        { words: (words) => readText(words, "the message") },
      ],
      subject: ["--subject <text>", "the subject", { default: [""] }],
    },
    output: (_, { to, subject, body }) => ({
      json: { to, subject, body },
      text: () => `sent to ${printableLine(to)}, for its next turn\n`,
    }),
    jsonHelp: "print the sent message as JSON",
    examples: [
      'reins mailbox send reed "rain tonight"',
      "reins mailbox send reed --subject report - < report.md",
    ],
  }),
  list: operationCommand({
    operation: mailboxOperations.listMail,
    summary: "list the newest messages",
    description: "Lists messages, oldest first. Marks none of them as read.",
    inputs: {
      agent: ["[agent]", "only those to or from this agent"],
      unread: ["--unread [agent]", "only those to the agent that it has not read", { local: true }],
      limit: ["--limit <count>", "how many (default: 100)"],
    },
    complete: ({ agent, unread }) => ({ agent: agentIn(agent, unread) }),
    send: (client, { agent, unread, limit }) =>
      unread === undefined || agent === undefined
        ? client.call(mailboxOperations.listMail, { query: { agent, limit } })
        : client.call(mailboxOperations.listUnreadMail, { params: { agent }, query: { limit } }),
    output: ({ messages, faults }) => ({
      text: () =>
        table([["id", "time", "from", "to", "subject"], ...messages.map(messageRow)], screenWidth()),
      notices: faults.map((line) => `agent-mailbox.jsonl: ${printableLine(line)}`),
    }),
    examples: [
      "reins mailbox list",
      "reins mailbox list reed                          messages to and from reed",
      "reins mailbox list reed --unread                 what reed gets with its next turn",
    ],
  }),
  read: operationCommand({
    operation: mailboxOperations.listMail,
    summary: "show a message",
    description: "Shows a whole message. Its recipient still gets it.",
    inputs: { message: ["<message>", "the message's id, or the beginning of it", { local: true }] },
    complete: () => ({ limit: MAX_SEARCHED }),
    output: async ({ messages }, { message }) => {
      const found = await findMessage(messages, message);
      return { json: found, text: () => describeMessage(found) };
    },
    jsonHelp: "print the message as JSON",
    examples: ["reins mailbox read 5f0c2a19"],
  }),
});

/** The agent, which stands before `--unread` or after it. */
function agentIn(named: string | undefined, unread: string | true | undefined): string | undefined {
  if (unread === undefined) return named;
  const agent = unread === true ? named : unread;
  if (agent === undefined)
    throw new CliError("--unread names no agent.", { next: "Name it: reins mailbox list <agent> --unread" });
  if (named === undefined || named === agent) return agent;
  throw new CliError(`Two agents are named: "${named}" and "${agent}".`, { next: "Name one of them." });
}

async function findMessage(messages: readonly MailMessage[], given: string): Promise<MailMessage> {
  const id = await idByPrefix(given, ID_FORMAT, [async () => messages]);
  const found = messages.find((message) => message.id === id);
  if (found) return found;
  throw new CliError(`There is no message ${id} among the newest ${MAX_SEARCHED}.`, {
    next: `To see them: ${ID_FORMAT.list}`,
    exitCode: EXIT.failed,
  });
}

/** A message without a subject is shown by its first line. */
function messageRow({ id, timestamp, from, to, subject, body }: MailMessage): string[] {
  const about = subject === "" ? (body.trim().split("\n")[0] ?? "") : subject;
  return [id.slice(0, SHOWN_ID), timestamp, from, to.join(", "), about].map(printableLine);
}

function describeMessage({ id, from, to, subject, body, timestamp }: MailMessage): string {
  const head = Object.entries({ id, from, to: to.join(", "), time: timestamp, subject });
  const lines = head.map(([name, text]) => `${name.padEnd(8)} ${printableLine(text)}`);
  return `${lines.join("\n")}\n\n${printable(body)}\n`;
}

const BOARD =
  "The board of people and agents: board.md. Agents get its last lines. Agents that are not on the roster may ask " +
  "there to be added; a person decides, with reins roster add.";

export const boardCommand = group(BOARD, {
  show: operationCommand({
    operation: boardOperations.showBoard,
    summary: "show the last lines",
    description: "Shows the last lines of the board, oldest first.",
    inputs: { lines: ["--lines <count>", "how many (default: 20)"] },
    output: ({ lines }) => ({ text: () => lines.map((line) => `${printableLine(line)}\n`).join("") }),
    examples: ["reins board show", "reins board show --lines 100"],
  }),
  post: operationCommand({
    operation: boardOperations.postBoard,
    summary: "post a line for everyone",
    description: "Adds a line to the board, with one's name and the time.",
    inputs: {
      content: [
        "<text...>",
        "the text; - reads it from stdin",
        { words: (words) => readText(words, "the post") },
      ],
    },
    output: (_, { content }) => ({ json: { content }, text: () => "posted\n" }),
    jsonHelp: "print the post as JSON",
    examples: ['reins board post "the mill is closed until Monday"'],
  }),
});
