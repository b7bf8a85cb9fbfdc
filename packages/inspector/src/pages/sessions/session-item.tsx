import type { Session } from "@reins/api";
import { Link } from "@tanstack/react-router";
import { usePendingOf } from "../../app/approvals/use-pending-approvals.ts";
import { Moment } from "../../design/moment.tsx";
import { dollars } from "../../design/number.ts";
import { LevelBadge } from "../../design/verdict.tsx";
import { visible } from "../../design/visible.ts";
import { StateBadge } from "./state-badge.tsx";
import { titleOf } from "./title.ts";

/** A session in the list of a phone. */
export function SessionItem({ session }: { session: Session }) {
  const { id, agent, cwd, enforcement, cost_usd, last_activity } = session;
  return (
    <li>
      <Link to="/sessions/$id" params={{ id }} className="flex flex-col gap-1 px-3 py-2 active:bg-sunken">
        <span className="flex items-center gap-2">
          <span className="min-w-0 flex-1 truncate font-medium text-accent">{titleOf(session)}</span>
          <StateBadge session={session} pending={usePendingOf(id)} />
        </span>
        <span className="flex items-center gap-2 text-2xs text-ink-faint">
          <span>{visible(agent)}</span>
          {enforcement && <LevelBadge level={enforcement} />}
          <span className="min-w-0 flex-1 truncate font-mono">{visible(cwd)}</span>
          {cost_usd !== undefined && <span>{dollars(cost_usd)}</span>}
          <Moment at={last_activity} />
        </span>
      </Link>
    </li>
  );
}
