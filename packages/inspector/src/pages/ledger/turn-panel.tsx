import { ledgerOperations, type PlacedEntry } from "@reins/api";
import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/call.ts";
import { Panel } from "../../design/panel.tsx";
import { EntryLink } from "../../proof/entry-link.tsx";
import { EntryLine } from "./entry-line.tsx";

const MOST = 500;

/** The entries that a turn names. */
export function TurnPanel({ placed, cids }: { placed: PlacedEntry; cids: readonly string[] }) {
  const { seq, entry } = placed;
  const { data } = useQuery({
    queryKey: ["turn", entry.cid],
    queryFn: ({ signal }) =>
      call(ledgerOperations.listEntries, {
        query: { session: entry.entity_id, order: "newest", after: seq, limit: MOST },
        signal,
      }),
    staleTime: Infinity,
  });
  const found = new Map(data?.entries.map((one) => [one.entry.cid, one]));
  return (
    <Panel title={`What this turn covers: ${cids.length} entries`}>
      <ol className="grid max-h-96 gap-x-4 gap-y-1.5 overflow-auto px-3 py-2 text-sm md:grid-cols-2">
        {cids.map((cid) => {
          const one = found.get(cid);
          return (
            <li key={cid} className="min-w-0">
              {one ? <EntryLine placed={one} /> : <EntryLink cid={cid} />}
            </li>
          );
        })}
      </ol>
    </Panel>
  );
}
