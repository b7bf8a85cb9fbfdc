import { join } from "node:path";

/** The socket on which the agents of a home are ended. */
export function killSocketIn(home: string): string {
  return join(home, "kill.sock");
}

/** The file of a home that holds what was ended and the ledger may not know yet. */
export function killJournalIn(home: string): string {
  return join(home, "kills.jsonl");
}
