import type { Session } from "@reins/api";
import { Badge } from "../../design/badge.tsx";

/** Where a session stands, in a word; `pending` is how many questions of it wait for a person. */
export function StateBadge({ session, pending }: { session: Session; pending: number }) {
  if (session.ended)
    return <Badge title={session.ended.message ?? "it ended for good"}>{session.ended.reason}</Badge>;
  if (pending > 0)
    return (
      <Badge tone="warn" title="it waits for a person">
        waiting
      </Badge>
    );
  if (session.state === "running")
    return (
      <Badge tone="accent" title="a turn is under way">
        running
      </Badge>
    );
  return (
    <Badge
      title={
        session.agent_runs ? "its agent runs and waits for you" : "its agent starts when you say something"
      }
    >
      {session.agent_runs ? "idle" : "resting"}
    </Badge>
  );
}
