import { checkConstitution } from "@reins/policy";
import { CliError } from "../../../errors/cli-error.ts";
import { readConstitutionFile } from "../../policy/constitution-file.ts";
import { type Check, fine, note, wrong } from "../finding.ts";

/** Whether the constitution would be taken as it lies there. */
export const constitutionCheck: Check = {
  name: "constitution",
  look: async ({ home }) => {
    try {
      const { policy, faults, tests } = checkConstitution(await readConstitutionFile(undefined, { home }));
      if (policy && faults.length === 0)
        return [fine(`${policy.rules.length} rules, ${tests.length} tests of its own passed`)];
      return [
        wrong(`the constitution has faults: ${faults[0]?.message}`, "See them all: reins policy check"),
      ];
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      return [note(error.message.replace(/\.$/, ""), error.next)];
    }
  },
};
