// A step of a build: runs an agent on a task and fails the build if it acted without asking, or if the record of it
// does not hold. node examples/sdk-ci-gate.ts <agent> <task>; REINS_URL and REINS_TOKEN name the server.
import { connect } from "@reins/sdk";

const { REINS_URL: url = "http://127.0.0.1:18789", REINS_TOKEN: token } = process.env;
const [agent, task = "what is in this folder"] = process.argv.slice(2);

// No person watches a build: what would ask is denied.
const reins = await connect(url, { token, onPermission: () => "deny" });
const before = await reins.ledger.checkpoint();
const session = await reins.sessions.create({ agent, mode: "oneshot" });
const ungated = new Map<string, string>();
const verdicts = new Set<string>();
let stopReason = "";
for await (const event of session.prompt(task)) {
  if (event.type === "end") stopReason = event.stopReason;
  if (event.type !== "tool" || !event.verdict) continue;
  if (event.verdict.entry !== undefined) verdicts.add(event.verdict.entry);
  if (event.verdict.ungated)
    ungated.set(event.call.toolCallId ?? "", event.call.title ?? event.verdict.reason ?? "unknown");
}

// Entries were only added since the checkpoint, and each verdict is one of them.
const kept = await reins.ledger.checkpoint({ kept: before });
for (const entry of verdicts) await reins.ledger.prove(entry, { kept });
console.log(`${stopReason}; ${verdicts.size} verdicts proved, ${ungated.size} actions without one before`);
for (const title of ungated.values()) console.error(`acted without asking: ${title}`);
await reins.close();
if (ungated.size > 0 || stopReason !== "end_turn") process.exitCode = 1;
