import type { Command } from "commander";
import { OPERATOR_CODES, OPERATOR_HELP, type OperatorFlags, operatorFlags } from "../../client/connect.ts";
import { exitCodesHelp } from "../../errors.ts";
import type { ShowFlags } from "./show.ts";

const CODES = exitCodesHelp(OPERATOR_CODES);

/** Declares `reins board` and what belongs to it. */
export function declareBoard(board: Command): void {
  board.description(
    "The board on which people and agents leave word for everybody: board.md. Agents are told its last lines. Those " +
      "that are not on the roster may ask there to be; a person decides, with reins roster add.",
  );
  declareShow(board);
  declarePost(board);
}

function declareShow(board: Command): void {
  const help = `${OPERATOR_HELP}

Examples:
  reins board show
  reins board show --lines 100`;
  operatorFlags(
    board
      .command("show")
      .summary("show the last lines")
      .description("Shows the last lines of the board, oldest first.")
      .option("--lines <count>", "how many (default: 20)"),
  )
    .addHelpText("after", help)
    .addHelpText("after", CODES)
    .action(async (_, command: Command) => {
      const { show } = await import("./show.ts");
      await show(command.optsWithGlobals<ShowFlags>());
    });
}

function declarePost(board: Command): void {
  const help = `${OPERATOR_HELP}

Examples:
  reins board post "the mill is closed until Monday"`;
  operatorFlags(
    board
      .command("post")
      .summary("leave word for everybody")
      .description("Adds a line to the board, with one's name and the time.")
      .argument("<text...>", "what to say; - reads it from stdin"),
    "print what was posted as JSON",
  )
    .addHelpText("after", help)
    .addHelpText("after", CODES)
    .action(async (words: string[], _, command: Command) => {
      const { post } = await import("./post.ts");
      await post(words, command.optsWithGlobals<OperatorFlags>());
    });
}
