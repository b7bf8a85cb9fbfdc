import { boardOperations } from "@reins/api";
import { type OperatorFlags, withOperator } from "../../client/connect.ts";
import { readCount } from "../../flags.ts";
import { print } from "../../output.ts";
import { printableLine } from "../../printable.ts";

/** The flags of `reins board show` as they were written. */
export interface ShowFlags extends OperatorFlags {
  readonly lines?: string;
}

const MOST = 500;

/** Shows the end of the board. */
export async function show(flags: ShowFlags): Promise<void> {
  const query = { lines: readCount(flags.lines, "--lines", MOST) };
  const excerpt = await withOperator(flags, (operator) => operator.ask(boardOperations.showBoard, { query }));
  if (flags.json) return print(`${JSON.stringify(excerpt)}\n`);
  print(excerpt.lines.map((line) => `${printableLine(line)}\n`).join(""));
}
