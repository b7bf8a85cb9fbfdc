import type { Command } from "commander";
import { OPERATOR_CODES, OPERATOR_HELP, type OperatorFlags, operatorFlags } from "../../client/connect.ts";
import { exitCodesHelp } from "../../errors.ts";
import type { ListFlags } from "./list.ts";
import type { SendFlags } from "./send.ts";

const CODES = exitCodesHelp(OPERATOR_CODES);

/** Declares `reins mailbox` and what belongs to it. */
export function declareMailbox(mailbox: Command): void {
  mailbox.description(
    "The messages between agents, as agent-mailbox.jsonl has them. An agent gets what is new with its next turn; the " +
      "heartbeat of reins up wakes a standing agent for it.",
  );
  declareSend(mailbox);
  declareList(mailbox);
  declareRead(mailbox);
}

function declareSend(mailbox: Command): void {
  const help = `${OPERATOR_HELP}

Examples:
  reins mailbox send reed "rain tonight"
  reins mailbox send reed --subject report - < report.md`;
  operatorFlags(
    mailbox
      .command("send")
      .summary("send a message to an agent")
      .description("Sends a message to an agent, in one's own name.")
      .argument("<agent>", "the agent's id")
      .argument("<text...>", "what to say; - reads it from stdin")
      .option("--subject <text>", "what it is about", ""),
    "print what was sent as JSON",
  )
    .addHelpText("after", help)
    .addHelpText("after", CODES)
    .action(async (agent: string, words: string[], _, command: Command) => {
      const { send } = await import("./send.ts");
      await send(agent, words, command.optsWithGlobals<SendFlags>());
    });
}

function declareList(mailbox: Command): void {
  const help = `${OPERATOR_HELP}

Examples:
  reins mailbox list
  reins mailbox list reed                          what was written to reed, and by it
  reins mailbox list reed --unread                 what reed will be told with its next turn`;
  operatorFlags(
    mailbox
      .command("list")
      .summary("list the newest messages")
      .description("Lists messages, oldest first. Marks none of them as read.")
      .argument("[agent]", "only those to or from this agent")
      .option("--unread [agent]", "only those to the agent that it has not read")
      .option("--limit <count>", "how many (default: 100)"),
  )
    .addHelpText("after", help)
    .addHelpText("after", CODES)
    .action(async (agent: string | undefined, _, command: Command) => {
      const { list } = await import("./list.ts");
      await list(agent, command.optsWithGlobals<ListFlags>());
    });
}

function declareRead(mailbox: Command): void {
  const help = `${OPERATOR_HELP}

Examples:
  reins mailbox read 5f0c2a19`;
  operatorFlags(
    mailbox
      .command("read")
      .summary("show a message")
      .description("Shows a message as a whole. Whoever it is to still gets it.")
      .argument("<message>", "the message's id; its beginning is enough"),
    "print the message as JSON",
  )
    .addHelpText("after", help)
    .addHelpText("after", CODES)
    .action(async (message: string, _, command: Command) => {
      const { read } = await import("./read.ts");
      await read(message, command.optsWithGlobals<OperatorFlags>());
    });
}
