import { resolve } from "node:path";
import { memoryOperations } from "@reins/api";
import { type OperatorFlags, withOperator } from "../../client/connect.ts";
import { readAmount, saidText } from "../../flags.ts";
import { print } from "../../output.ts";
import { SHOWN_ID } from "./fact-id.ts";

/** The flags of `reins memory add` as they were written. */
export interface AddFlags extends OperatorFlags {
  readonly workspace?: string;
  readonly confidence?: string;
}

const SURE = { what: "a number from 0 to 1", least: 0, most: 1 } as const;

/** Keeps a fact. */
export async function add(words: readonly string[], flags: AddFlags): Promise<void> {
  const { workspace, confidence, json } = flags;
  const body = {
    content: await saidText(words, "the fact"),
    ...(workspace !== undefined && { workspace: resolve(workspace) }),
    ...(confidence !== undefined && { confidence: readAmount(confidence, "--confidence", SURE) }),
  };
  const fact = await withOperator(flags, (operator) => operator.ask(memoryOperations.addMemory, { body }));
  print(json ? `${JSON.stringify(fact)}\n` : `known now, as ${fact.id.slice(0, SHOWN_ID)}\n`);
}
