import { Roster } from "@reins/policy";
import { policyFiles } from "@reins/supervisor";
import { readIfExists } from "../../../configuration/configuration.ts";
import { DEFAULT_TENANT } from "../../policy/constitution-file.ts";
import { type Check, fine, wrong } from "../finding.ts";

/** Whether every line of the roster can be read: agents on the others are strangers, whoever they were. */
export const rosterCheck: Check = {
  name: "roster",
  look: async ({ home }) => {
    const path = policyFiles(home, DEFAULT_TENANT).roster;
    const text = await readIfExists(path);
    if (text === undefined) return [];
    const { entries, faults } = Roster.read(text);
    if (faults.length === 0)
      return [fine(`${new Set(entries.map(({ session_id }) => session_id)).size} agents are known`)];
    return [
      wrong(
        `${path}: ${faults[0]}${faults.length > 1 ? `, nor are ${faults.length - 1} others` : ""}; who stands there is unknown`,
        'Mend it: one agent on each line, such as {"session_id":"reed","kind":"agent","state":"live"}',
      ),
    ];
  },
};
