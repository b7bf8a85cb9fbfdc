import { boardOperations } from "@reins/api";
import { operationCommand } from "../client/operation-command.ts";
import { group } from "../command.ts";
import { readText } from "../flags.ts";
import { printableLine } from "../printable.ts";

const DESCRIPTION =
  "The board of people and agents: board.md. Agents get its last lines. Agents that are not on the roster may ask " +
  "there to be added; a person decides, with reins roster add.";

export const boardCommand = group(DESCRIPTION, {
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
