import { memoryOperations } from "@reins/api";
import type { Operator } from "../../client/api-client.ts";
import { type OperatorFlags, withOperator } from "../../client/connect.ts";
import { idByPrefix } from "../../client/id-prefix.ts";
import { print } from "../../output.ts";
import { FACT_ID } from "./fact-id.ts";

const MOST = 1_000;

/** Forgets a fact. */
export async function forget(given: string, flags: OperatorFlags): Promise<void> {
  const id = await withOperator(flags, (operator) => forgotten(given, operator));
  print(flags.json ? `${JSON.stringify({ id, forgotten: true })}\n` : `forgotten  ${id}\n`);
}

async function forgotten(given: string, operator: Operator): Promise<string> {
  const search = async function* () {
    const { facts } = await operator.ask(memoryOperations.listMemory, { query: { limit: MOST } });
    yield facts.map(({ id }) => id);
  };
  const fact = await idByPrefix(given, FACT_ID, [search]);
  const advice = { not_found: `To see what is known: ${FACT_ID.list}` };
  await operator.ask(memoryOperations.forgetMemory, { params: { fact }, advice });
  return fact;
}
