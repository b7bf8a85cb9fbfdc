import { fileURLToPath } from "node:url";
import { checkConstitution, defaultFile } from "@reins/policy";
import { CliError } from "../../../errors.ts";
import { homeFolder } from "../../../home.ts";
import { readConstitutionFile } from "../../policy/constitution-file.ts";
import { type Check, type Finding, fine, note, type Patient, wrong } from "../finding.ts";
import { areEarlierRules } from "./shipped-rules.ts";

/** Whether the constitution would be taken as it lies there, and is not one that Reins itself has left behind. */
export const constitutionCheck: Check = {
  name: "constitution",
  look: async (patient) => {
    try {
      const text = await readConstitutionFile(undefined, { home: patient.home });
      const { policy, faults, tests } = await checkConstitution(text);
      if (policy && faults.length === 0)
        return [
          fine(`${policy.rules.length} rules, ${tests.length} tests of its own passed`),
          ...(areEarlierRules(text.rules) ? [earlier(text.file, patient)] : []),
        ];
      return [
        areEarlierRules(text.rules)
          ? outgrown(text.file)
          : wrong(`the constitution has faults: ${faults[0]?.message}`, "See them all: reins policy check"),
      ];
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      return [note(error.message.replace(/\.$/, ""), error.next)];
    }
  },
};

/** Rules that this version reads more strictly than the one that wrote them, so that they fail their own tests. */
function outgrown(file: string): Omit<Finding, "check"> {
  const today = fileURLToPath(defaultFile("default.yaml"));
  return wrong(
    "it is the one that an earlier version of Reins wrote, which this version refuses, so everything is blocked",
    `To see the difference: reins policy diff "${file}" "${today}". To take today's over: cp "${today}" "${file}"`,
  );
}

function earlier(file: string, { home, environment }: Patient): Omit<Finding, "check"> {
  const today = fileURLToPath(defaultFile("default.yaml"));
  const flag = home === homeFolder(undefined, environment) ? "" : ` --home "${home}"`;
  return note(
    "it is the one that an earlier version of Reins wrote, with nothing changed since; today's is another",
    `To see the difference: reins policy diff "${file}" "${today}". ` +
      `To take it over: cp "${today}" "${file}" && reins policy accept${flag}`,
  );
}
