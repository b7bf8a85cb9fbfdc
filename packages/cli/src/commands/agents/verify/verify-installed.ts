import { type AgentEntry, type Installed, type VerifyReport, verifyAgent } from "@reins/host";
import { agentFault } from "../../../hosting/agent-error.ts";
import type { HomeAgents } from "../../../hosting/home-agents.ts";
import { untilStopped } from "../../../serving/stop.ts";
import { VerifyLine } from "./verify-line.ts";

/** Verifies an install as it will run in its home, and keeps what was found. How far it is goes to stderr. */
export async function verifyInstalled(
  agents: HomeAgents,
  entry: AgentEntry,
  installed: Installed,
): Promise<VerifyReport> {
  const confined = agents.isConfined(entry.id);
  const line = new VerifyLine(process.stderr, entry.name);
  try {
    const report = await untilStopped((signal) =>
      verifyAgent({
        entry,
        installed,
        confined,
        environment: process.env,
        signal,
        onProgress: (progress) => line.update(progress),
      }),
    );
    await agents.stamps.keep(report, { entry, installed, confined }, new Date());
    return report;
  } catch (error) {
    throw agentFault(error, entry.id, entry);
  } finally {
    line.clear();
  }
}
