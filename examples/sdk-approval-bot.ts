// Answers approvals by a rule of its own, for the questions that need no person: tests may run, nothing may be pushed,
// and all else waits for people. REINS_URL and REINS_TOKEN name the server; the token is one of an approver.
import { ApiError, type Approval, connect } from "@reins/sdk";

const { REINS_URL: url = "http://127.0.0.1:18789", REINS_TOKEN: token } = process.env;
const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());

/** Decides by the facts that Reins determined, never by what the agent says of itself. */
function decide({ command, facts }: Approval): "allow_once" | "deny" | undefined {
  const words = command?.words.join(" ") ?? "";
  if (words === "npm test") return "allow_once";
  if (facts.effects.some((effect) => effect.kind === "exec" && effect.command === "git")) return "deny";
  return undefined;
}

const reins = await connect(url, { token });
console.log(`answering as ${reins.self.user}`);
for await (const approval of reins.approvals.pending({ signal: stop.signal })) {
  const decision = decide(approval);
  if (decision === undefined) {
    console.log(`left to people: ${approval.tool}`);
    continue;
  }
  try {
    await reins.approvals.answer(approval.id, decision, { note: "by the approval bot" });
    console.log(`${decision}: ${approval.tool} ${approval.command?.words.join(" ") ?? ""}`);
  } catch (error) {
    // A person was faster.
    if (!(error instanceof ApiError) || error.code !== "conflict") throw error;
  }
}
await reins.close();
