import type { Session } from "@reins/api";
import { Link } from "@tanstack/react-router";
import { usePendingOf } from "../../app/approvals/use-pending-approvals.ts";
import { Badge } from "../../design/badge.tsx";
import { classNames } from "../../design/class-names.ts";
import { Moment } from "../../design/moment.tsx";
import { dollars } from "../../design/number.ts";
import { Cell } from "../../design/table.tsx";
import { takeFocus } from "../../design/use-list-keys.ts";
import { LevelBadge } from "../../design/verdict.tsx";
import { visible } from "../../design/visible.ts";
import { SessionActions } from "./session-actions.tsx";
import { StateBadge } from "./state-badge.tsx";
import { titleOf } from "./title.ts";

/** A session in the list. */
export function SessionRow({ session, isChosen }: { session: Session; isChosen: boolean }) {
  const pending = usePendingOf(session.id);
  const { id, agent, cwd, trust, enforcement, cost_usd, last_activity } = session;
  return (
    <tr className={classNames(isChosen && "bg-accent-wash")}>
      <Cell className="max-w-80">
        <Link
          to="/sessions/$id"
          params={{ id }}
          ref={isChosen ? takeFocus : undefined}
          className="block truncate font-medium text-accent hover:underline"
        >
          {titleOf(session)}
        </Link>
        <span className="block truncate font-mono text-2xs text-ink-faint" title={cwd}>
          {visible(cwd)}
        </span>
      </Cell>
      <Cell>{visible(agent)}</Cell>
      <Cell>
        <StateBadge session={session} pending={pending} />
      </Cell>
      <Cell>{trust && <Badge tone={trust === "unknown" ? "warn" : "neutral"}>{trust}</Badge>}</Cell>
      <Cell>{enforcement && <LevelBadge level={enforcement} />}</Cell>
      <Cell isNumber>{cost_usd === undefined ? "–" : dollars(cost_usd)}</Cell>
      <Cell isNumber>
        {pending > 0 ? (
          <Link to="/approvals" className="font-semibold text-warn underline">
            {pending}
          </Link>
        ) : (
          "–"
        )}
      </Cell>
      <Cell isNumber>
        <Moment at={last_activity} />
      </Cell>
      <Cell>
        <SessionActions session={session} canStop />
      </Cell>
    </tr>
  );
}
