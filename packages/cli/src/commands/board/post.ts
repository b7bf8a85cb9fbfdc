import { boardOperations } from "@reins/api";
import { type OperatorFlags, withOperator } from "../../client/connect.ts";
import { saidText } from "../../flags.ts";
import { print } from "../../output.ts";

/** Leaves word on the board. */
export async function post(words: readonly string[], flags: OperatorFlags): Promise<void> {
  const body = { content: await saidText(words, "the post") };
  await withOperator(flags, (operator) => operator.ask(boardOperations.postBoard, { body }));
  print(flags.json ? `${JSON.stringify(body)}\n` : "posted\n");
}
