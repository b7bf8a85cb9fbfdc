import { join } from "node:path";
import { isPassable } from "@reins/agents";
import { z } from "zod";
import { readYamlFile } from "./configuration.ts";

const AgentsFile = z.strictObject({
  /** Whether an agent must be verified as it is now. */
  require_verified: z.boolean().default(false),
  /** Whether an agent must be installed; none is installed on first use. */
  require_installed: z.boolean().default(false),
  /** Environment variables that agents get beside what they need, by agent; `*` is all. */
  pass: z
    .record(
      z.string(),
      z.array(
        z
          .string()
          .regex(/^[A-Za-z_]\w*$/, "is not the name of a variable")
          .refine(isPassable, "would make programs load code, and is never passed on"),
      ),
    )
    .default({}),
  /** Agents that declare action graphs by what they say; the text of every other is text. */
  protocol: z.array(z.string()).default([]),
  /** Agents in the form of the catalogue; one with the same id replaces the catalogue's. */
  agents: z.array(z.unknown()).default([]),
});
export type AgentsFile = z.infer<typeof AgentsFile>;

export function agentsFileIn(home: string): string {
  return join(home, "agents.yaml");
}

export function readAgentsFile(home: string): Promise<AgentsFile> {
  return readYamlFile(agentsFileIn(home), AgentsFile);
}
