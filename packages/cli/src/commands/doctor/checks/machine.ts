import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { systemCode } from "../../../errors.ts";
import { browserOpener } from "../../../serving/browser.ts";
import { type Check, fine, note, wrong } from "../finding.ts";

const TIGHT = 2 * 1024 ** 3;
const FULL = 200 * 1024 ** 2;

/** Whether there is room for what is recorded and installed. */
export const diskCheck: Check = {
  name: "disk",
  look: async ({ home }) => [diskFinding(await freeBytes(home))],
};

/** What so much room is worth. */
export function diskFinding(bytes: number) {
  const said =
    bytes >= 1024 ** 3 ? `${(bytes / 1024 ** 3).toFixed(1)} GB` : `${Math.round(bytes / 1024 ** 2)} MB`;
  if (bytes < FULL)
    return wrong(
      `only ${said} are free: without room for the record nothing is allowed`,
      "Make room, or move the home: --home",
    );
  if (bytes < TIGHT)
    return note(
      `${said} are free; an agent takes up to half a gigabyte`,
      "Make room before installing agents.",
    );
  return fine(`${said} are free`);
}

/** The room below a folder, or below the nearest one that is there. */
async function freeBytes(folder: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch (error) {
    if (systemCode(error) !== "ENOENT" || dirname(folder) === folder) throw error;
    return freeBytes(dirname(folder));
  }
}

/** Whether the page opens by itself. */
export const browserCheck: Check = {
  name: "browser",
  look: async ({ environment }) => {
    const opener = browserOpener(environment);
    if (opener !== undefined) return [fine(`pages are opened with ${opener}`)];
    return [
      note(
        "no desktop here, so the page does not open by itself",
        "Print its address for another machine: reins open --print",
      ),
    ];
  },
};
