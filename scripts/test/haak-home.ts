import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Rules in HAAK's form, for tests: about tools, and nothing else. */
export const HAAK_RULES = `
tool_rules:
  - { name: no_shell, condition: { agent_trust: unknown, tool_name_matches: [bash, Bash, write_file] }, verdict: blocked, reason: not on the roster }
  - { name: reading, condition: { agent_trust: unknown, tool_name_matches: [read_file, list_files, search, send_message, read_mailbox, read_board] }, verdict: allowed, reason: harmless }
  - { name: settings, condition: { agent_trust: unknown, tool_name_matches: ["session/*"] }, verdict: allowed }
  - { name: callers, condition: { origin: client, tool_name_matches: ["board/*", "mailbox/*", "memory/*"] }, verdict: allowed }
  - { name: registered, condition: { agent_trust: registered }, verdict: allowed }
  - { name: standing, condition: { agent_trust: standing }, verdict: allowed }
default_mandate: You are a stranger here.
`;

const ROSTER = [
  { session_id: "reed", kind: "role", state: "live", mandate: "mandates/reed.md" },
  { session_id: "coder", kind: "agent", state: "live" },
  { session_id: "ghost", kind: "role", state: "dead" },
];

/** Puts a roster into a home, and the mandate of the role on it. */
export async function furnishHaakHome(home: string): Promise<void> {
  const lines = ROSTER.map((line) => `${JSON.stringify(line)}\n`);
  await writeFile(join(home, "agent-roster.jsonl"), lines.join(""));
  await mkdir(join(home, "mandates"), { recursive: true });
  await writeFile(join(home, "mandates", "reed.md"), "You are the keeper of the reeds.");
}
