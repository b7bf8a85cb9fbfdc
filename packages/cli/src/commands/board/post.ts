import { boardOperations } from "@reins/api";
import type { OperatorFlags } from "../../operator/flags.ts";
import { saidText } from "../../operator/said-text.ts";
import { withOperator } from "../../operator/with-operator.ts";
import { print } from "../../print.ts";

/** Leaves word on the board. */
export async function post(words: readonly string[], flags: OperatorFlags): Promise<void> {
  const body = { content: await saidText(words, "the post") };
  await withOperator(flags, (operator) => operator.ask(boardOperations.postBoard, { body }));
  print(flags.json ? `${JSON.stringify(body)}\n` : "posted\n");
}
