import { hash } from "node:crypto";

/** What Reins has written as `constitution.yaml` into new homes, by SHA-256, the oldest first; the last is today's. */
export const SHIPPED_RULES: readonly string[] = [
  "4e2cc70d54798cbbeb2ff95e978f42f8d54e8af36884a175112b5a5399c652d8",
  "db287522b967d575ca0026421ab959cb15f163389c21b575263cedc800f55f76",
  "c6fbbab4eb2453e36261570c9d0c76986d166af51d6b63eb8c5418f699f75135",
  "875664c00b80661943f304de4e79576368363b535a93d465167a8bd3f51bead3",
  "c5e3e26df6a41eca0d8bd2995917937aa7808c6a74fa1a2b678dcd96f4974f64",
  "20e4633dc7530ace3e5e3909d744985d8ee5b2ec334c932ad32913fe89df19c6",
];

/** Whether rules are those that an earlier version wrote into a new home, with nothing changed since. */
export function areEarlierRules(rules: string): boolean {
  return SHIPPED_RULES.slice(0, -1).includes(hash("sha256", rules, "hex"));
}
