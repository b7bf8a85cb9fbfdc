import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { OperatedHome } from "./operated-home.ts";

/** An agent as `agents.yaml` has it; YAML takes JSON as it is. */
export type AddedAgent = Readonly<Record<string, unknown>> & { readonly id: string };

const fixture = (name: string) =>
  fileURLToPath(new URL(`../../../host/system/fixtures/${name}`, import.meta.url));

/** The program of the toy agent, which does what its model says. */
export const TOY = fixture("toy-agent.mjs");

/** An agent that does what stands in its prompt, one step a line. */
export const stub: AddedAgent = {
  id: "stub",
  name: "The stub",
  support: { level: "supported" },
  start: { with: "node", file: fixture("stub-agent.mjs") },
  tools: "claude-code",
  enforcement: { level: "asked" },
};

/** An agent that does what its model says, each character in its own way. */
export function toy(character: string, more: object = {}): AddedAgent {
  const entry = JSON.parse(readFileSync(fixture("toy-agent.json"), "utf8"));
  const start = { with: "node", file: TOY };
  return { ...entry, id: character, start, profile: { env: { CHARACTER: character } }, ...more };
}

/** A home to which agents were added, all of them on its roster. */
export function homeWith(agents: readonly AddedAgent[], settings: object = {}): OperatedHome {
  const home = new OperatedHome();
  mkdirSync(home.path, { mode: 0o700 });
  writeFileSync(join(home.path, "agents.yaml"), JSON.stringify({ ...settings, agents }), { mode: 0o600 });
  const roster = agents.map(({ id }) => JSON.stringify({ session_id: id, kind: "agent", state: "live" }));
  writeFileSync(join(home.path, "agent-roster.jsonl"), `${roster.join("\n")}\n`, { mode: 0o600 });
  return home;
}
