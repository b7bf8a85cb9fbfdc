import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { isNotFound } from "../../../errors.ts";
import { databaseIn, keysIn } from "../../../home.ts";
import { type Check, type Finding, fine, note, wrong } from "../finding.ts";

const OTHERS = 0o077;

/** Whether the home is there, and for this user alone. */
export const homeCheck: Check = {
  name: "home",
  look: async ({ home }) => [
    await privateFolder(home, () =>
      note(`${home} is not there yet`, "reins up makes it on its first start."),
    ),
  ],
};

/** Whether the keys are there, and for this user alone. */
export const keysCheck: Check = {
  name: "keys",
  look: async ({ home }) => [
    await privateFolder(keysIn(home), () =>
      existsSync(databaseIn(home))
        ? wrong(
            "there is a ledger here without the keys it is signed with: nothing can be added to it",
            `Bring ${keysIn(home)} back from a backup, or let Reins run on another home: --home <folder>`,
          )
        : note("no keys yet", "They are made on the first start: reins up"),
    ),
  ],
};

async function privateFolder(
  path: string,
  absent: () => Omit<Finding, "check">,
): Promise<Omit<Finding, "check">> {
  try {
    const found = await stat(path);
    const { mode, uid } = found;
    if (!found.isDirectory())
      return wrong(`${path} is no folder`, "Choose another home, with --home <folder> or REINS_HOME.");
    if (process.getuid && uid !== process.getuid())
      return wrong(
        `${path} belongs to somebody else`,
        `Run as the user it belongs to, or: chown -R $USER ${path}`,
      );
    if (process.platform !== "win32" && (mode & OTHERS) !== 0)
      return wrong(`others may look into ${path}`, `Take that from them: chmod 700 ${path}`);
    return fine(`${path}, for this user alone`);
  } catch (error) {
    if (isNotFound(error)) return absent();
    throw error;
  }
}
