import { resolve } from "node:path";
import { type MemoryFact, memoryOperations } from "@reins/api";
import { type OperatorFlags, withOperator } from "../../client/connect.ts";
import { readCount } from "../../flags.ts";
import { print } from "../../output.ts";
import { printableLine, screenWidth, table } from "../../printable.ts";
import { SHOWN_ID } from "./fact-id.ts";

/** The flags of `reins memory list` and `reins memory search` as they were written. */
export interface ListFlags extends OperatorFlags {
  readonly workspace?: string;
  readonly limit?: string;
}

const MOST = 1_000;

/** Lists the facts that fit a query best, or the newest. */
export async function list(query: string | undefined, flags: ListFlags): Promise<void> {
  const { workspace, json } = flags;
  const asked = {
    query,
    limit: readCount(flags.limit, "--limit", MOST),
    workspace: workspace === undefined ? undefined : resolve(workspace),
  };
  const found = await withOperator(flags, (operator) =>
    operator.ask(memoryOperations.listMemory, { query: asked }),
  );
  if (json) return print(`${JSON.stringify(found)}\n`);
  print(table([["id", "said", "source", "workspace", "fact"], ...found.facts.map(row)], screenWidth()));
}

function row({ id, created_at, source, workspace, content }: MemoryFact): string[] {
  return [id.slice(0, SHOWN_ID), created_at, source, workspace || "-", content].map(printableLine);
}
