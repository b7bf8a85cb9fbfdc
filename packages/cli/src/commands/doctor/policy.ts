import { hash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { checkConstitution, defaultFile, Roster } from "@reins/policy";
import { policyFiles } from "@reins/supervisor";
import { CliError } from "../../errors.ts";
import { readIfExists } from "../../files.ts";
import { homeFolder } from "../../home.ts";
import { DEFAULT_TENANT, findConstitution } from "../policy/constitution-file.ts";
import { type Check, type CheckContext, type Finding, fine, note, wrong } from "./doctor.ts";

/** Checks that Reins would accept the constitution, and that it is not an unchanged older default. */
export const constitutionCheck: Check = async (context) => {
  try {
    const text = await findConstitution(undefined, context.home);
    const { policy, faults, tests } = await checkConstitution(text);
    if (policy && faults.length === 0)
      return [
        fine(`${policy.rules.length} rules, ${tests.length} tests of its own passed`),
        ...(areEarlierRules(text.rules) ? [olderDefault(text.file, context)] : []),
      ];
    return [
      areEarlierRules(text.rules)
        ? rejectedDefault(text.file)
        : wrong(`the constitution has faults: ${faults[0]?.message}`, "See them all: reins policy check"),
    ];
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return [note(error.message.replace(/\.$/, ""), error.next)];
  }
};

/** An older default that fails its own tests in this version. */
function rejectedDefault(file: string): Finding {
  const current = fileURLToPath(defaultFile("default.yaml"));
  return wrong(
    "it is the default of an earlier version, which this version rejects, so everything is blocked",
    `To see the difference: reins policy diff "${file}" "${current}". To use the current default: cp "${current}" "${file}"`,
  );
}

function olderDefault(file: string, { home, environment }: CheckContext): Finding {
  const current = fileURLToPath(defaultFile("default.yaml"));
  const flag = home === homeFolder(undefined, environment) ? "" : ` --home "${home}"`;
  return note(
    "it is the unchanged default of an earlier version; the current default is another",
    `To see the difference: reins policy diff "${file}" "${current}". ` +
      `To use the current default: cp "${current}" "${file}" && reins policy accept${flag}`,
  );
}

/** The SHA-256 of every default `constitution.yaml`, the oldest first; the last is the current one. */
export const SHIPPED_RULES: readonly string[] = [
  "4e2cc70d54798cbbeb2ff95e978f42f8d54e8af36884a175112b5a5399c652d8",
  "db287522b967d575ca0026421ab959cb15f163389c21b575263cedc800f55f76",
  "c6fbbab4eb2453e36261570c9d0c76986d166af51d6b63eb8c5418f699f75135",
  "875664c00b80661943f304de4e79576368363b535a93d465167a8bd3f51bead3",
  "c5e3e26df6a41eca0d8bd2995917937aa7808c6a74fa1a2b678dcd96f4974f64",
  "20e4633dc7530ace3e5e3909d744985d8ee5b2ec334c932ad32913fe89df19c6",
  "a26e561333b3fc54918889c8b75804747955a2c6d890f8c6b385a9b5da66c4d4",
  "6b4645e5204daf2a3ccd6c6735acb6980b3e4940ce1c52d6fbc015ab27e8263b",
  "b2c47799cfad2e36eb7692c30fc7ac4edf127995353e5317f621c67ca3ec2482",
  "8927384cf914088b7fc3b015c2d00d7072cd0f9bcdcfed3d7bc47a9f2d676984",
];

export function areEarlierRules(rules: string): boolean {
  return SHIPPED_RULES.slice(0, -1).includes(hash("sha256", rules, "hex"));
}

/** Agents on lines that cannot be read count as unknown. */
export const rosterCheck: Check = async ({ home }) => {
  const path = policyFiles(home, DEFAULT_TENANT).roster;
  const text = await readIfExists(path);
  if (text === undefined) return [];
  const { entries, faults } = Roster.read(text);
  if (faults.length === 0)
    return [fine(`${new Set(entries.map(({ session_id }) => session_id)).size} agents are known`)];
  return [
    wrong(
      `${path}: ${faults[0]}${faults.length > 1 ? `, nor are ${faults.length - 1} others` : ""}; the agents on them are unknown`,
      'Repair it: one agent per line, such as {"session_id":"reed","kind":"agent","state":"live"}',
    ),
  ];
};
