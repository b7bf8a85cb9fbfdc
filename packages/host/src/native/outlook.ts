import { readFile } from "node:fs/promises";
import type { Harness } from "@reins/supervisor";
import { agentOf, type GovernorContext, requestContextIn, subjectIn } from "../governor/context.ts";
import type { GovernedSession } from "../governor/governed-session.ts";

/** The constitution of a tenant in words; empty where it has none of its own. */
export async function proseOf({ policies }: Pick<Harness, "policies">, tenant: string): Promise<string> {
  try {
    return await readFile(policies.filesOf(tenant).prose, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return "";
    throw error;
  }
}

/** Says of a path whether a session may read it without anybody being asked. Of a session that is not open, nothing. */
export function readable(
  context: Pick<GovernorContext, "harness" | "principal" | "entry">,
  session: GovernedSession | undefined,
): (path: string) => Promise<boolean> {
  return async (path) => {
    if (!session) return false;
    const subject = subjectIn(context, session, "performed");
    const event = {
      event_type: "pre_action",
      session_id: session.id,
      agent_id: agentOf(context.entry, session),
      depth: session.depth,
      payload: { tool_name: "read_file", arguments: { path } },
    };
    const requestContext = requestContextIn(session, session.workspace);
    const verdict = await context.harness.supervisor.foresee(event, subject, requestContext);
    return verdict?.verdict === "allowed";
  };
}
