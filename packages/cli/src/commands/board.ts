import { boardOperations } from "@reins/api";
import type { Command } from "commander";
import { declareOperation } from "../client/operation-command.ts";
import { readText } from "../flags.ts";
import { printableLine } from "../printable.ts";

/** Declares `reins board` and its subcommands. */
export function declareBoard(board: Command): void {
  board.description(
    "The board of people and agents: board.md. Agents get its last lines. Agents that are not on the roster may ask " +
      "there to be added; a person decides, with reins roster add.",
  );
  declareOperation(board, {
    name: "show",
    operation: boardOperations.showBoard,
    summary: "show the last lines",
    description: "Shows the last lines of the board, oldest first.",
    inputs: { lines: ["--lines <count>", "how many (default: 20)"] },
    output: ({ lines }) => ({ text: () => lines.map((line) => `${printableLine(line)}\n`).join("") }),
    examples: ["reins board show", "reins board show --lines 100"],
  });
  declareOperation(board, {
    name: "post",
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
  });
}
