import { ledgerOperations } from "@reins/api";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { z } from "zod";
import type { Verdict } from "../../../acp/conversation/verdict.ts";
import { call } from "../../../api/call.ts";
import { useSelf } from "../../../app/entrance.tsx";
import { Hash } from "../../../design/hash.tsx";
import { LevelBadge, VerdictBadge } from "../../../design/verdict.tsx";
import { visible } from "../../../design/visible.ts";

/** A verdict with what stands behind it: rule, reason, level, entry and constitution. */
export function VerdictView({ verdict }: { verdict: Verdict }) {
  const { rule, reason, enforcement, entry, approval, ungated } = verdict;
  return (
    <div className="flex flex-wrap items-center gap-x-2 gap-y-1 text-sm">
      <VerdictBadge verdict={ungated ? "ungated" : verdict.verdict} />
      <span className="min-w-0 break-words">{visible(reason ?? "")}</span>
      {rule && (
        <span className="text-ink-faint">
          rule <code className="text-xs text-ink-soft">{visible(rule)}</code>
        </span>
      )}
      {enforcement !== undefined && <LevelBadge level={enforcement} />}
      {approval !== undefined && <span className="text-ink-faint">after a person was asked</span>}
      {entry !== undefined && <Recorded entry={entry} />}
    </div>
  );
}

const Payload = z.looseObject({ constitution_hash: z.string() });

/** The entry in the ledger, and the constitution it was decided by. */
function Recorded({ entry }: { entry: string }) {
  const { is_admin } = useSelf();
  const { data } = useQuery({
    queryKey: ["ledger", "entry", entry],
    queryFn: ({ signal }) => call(ledgerOperations.getEntry, { params: { cid: entry }, signal }),
    staleTime: Infinity,
    enabled: is_admin,
  });
  const payload = Payload.safeParse(data?.entry.payload);
  return (
    <>
      <Link to="/ledger/$cid" params={{ cid: entry }} className="text-accent underline">
        Why, and prove it
      </Link>
      {payload.success && (
        <span className="text-2xs text-ink-faint">
          constitution <Hash value={payload.data.constitution_hash} length={8} />
        </span>
      )}
    </>
  );
}
