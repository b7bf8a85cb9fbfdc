import { existsSync } from "node:fs";
import { examineSqlite, StoreError } from "@reins/store";
import { operatorSocketIn, realDatabase } from "../../../home.ts";
import { ACCEPT_LOSS } from "../../../ledger/ledger-error.ts";
import { isServed } from "../../../serving/socket.ts";
import { type Check, fine, note, wrong } from "../finding.ts";

/** Whether everything that was written to the database is there, unchanged. */
export const databaseCheck: Check = {
  name: "database",
  async look({ home }) {
    const path = await realDatabase(home);
    if (!existsSync(path) && !existsSync(`${path}.mark`)) return [];
    // What is written meanwhile would look like damage; the Reins that runs has looked when it was started.
    if (await isServed(operatorSocketIn(home))) return [];
    const { losses, isSummed } = examined(path);
    if (losses.length === 0)
      return [fine(isSummed ? "everything that was written is there" : "nothing is known to be missing")];
    return losses.map(({ kind, text }) =>
      kind === "rolled_back" || kind === "damaged"
        ? wrong(text, ACCEPT_LOSS)
        : note(text, "The next start records it in the ledger: reins up"),
    );
  },
};

/** One that cannot be read at all is damaged too. */
function examined(path: string): ReturnType<typeof examineSqlite> {
  try {
    return examineSqlite(path);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return { losses: [{ kind: "damaged", text: error.message }], isSummed: false };
  }
}
