import { join } from "node:path";
import { isPassable } from "@reins/host";
import { z } from "zod";
import { readYamlFile } from "./configuration.ts";

/** What `agents.yaml` in a home may say. */
const AgentsFile = z.strictObject({
  /** Whether only agents may run whose gate was verified as they are now. */
  require_verified: z.boolean().default(false),
  /** Whether only agents may run that were installed before; none is installed on first use. */
  require_installed: z.boolean().default(false),
  /** Variables of the environment that agents are given beside what they need anyway, by agent; `*` is all. */
  pass: z
    .record(
      z.string(),
      z.array(
        z
          .string()
          .regex(/^[A-Za-z_]\w*$/, "is no name of a variable")
          .refine(isPassable, "would have programs load code, and is never passed on"),
      ),
    )
    .default({}),
  /** Agents beside those of the catalogue, in its form; one of the same id takes the place of the catalogue's. */
  agents: z.array(z.unknown()).default([]),
});
export type AgentsFile = z.infer<typeof AgentsFile>;

/** The file of a home that names agents. */
export function agentsFileIn(home: string): string {
  return join(home, "agents.yaml");
}

/** Reads which agents the operator of a home has added. */
export function readAgentsFile(home: string): Promise<AgentsFile> {
  return readYamlFile(agentsFileIn(home), AgentsFile);
}
