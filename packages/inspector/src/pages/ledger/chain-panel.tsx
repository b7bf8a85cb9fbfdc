import { ledgerOperations, type PlacedEntry } from "@reins/api";
import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/call.ts";
import { classNames } from "../../design/class-names.ts";
import { Panel } from "../../design/panel.tsx";
import { Failure, Waiting } from "../../design/states.tsx";
import { EntryLine } from "./entry-line.tsx";

const AROUND = 4;

/** The entries of the same session before and after one, as a chain. */
export function ChainPanel({ placed }: { placed: PlacedEntry }) {
  const { seq, entry } = placed;
  const { data, error } = useQuery({
    queryKey: ["chain", entry.cid],
    queryFn: async ({ signal }) => {
      const around = (order: "oldest" | "newest") =>
        call(ledgerOperations.listEntries, {
          query: { session: entry.entity_id, order, after: seq, limit: AROUND },
          signal,
        });
      const [before, after] = await Promise.all([around("newest"), around("oldest")]);
      return [...before.entries.toReversed(), placed, ...after.entries];
    },
  });
  return (
    <Panel title="Chain of its session">
      {error ? (
        <div className="p-3">
          <Failure error={error} />
        </div>
      ) : data ? (
        <ol className="px-3 py-2">
          {data.map((link) => (
            <ChainLink key={link.seq} placed={link} isThis={link.seq === seq} />
          ))}
        </ol>
      ) : (
        <Waiting what="Fetching what came before and after" />
      )}
    </Panel>
  );
}

function ChainLink({ placed, isThis }: { placed: PlacedEntry; isThis: boolean }) {
  return (
    <li
      className={classNames(
        "relative ml-1.5 border-l pb-2.5 pl-4 text-sm last:pb-0",
        isThis ? "border-accent" : "border-line-strong",
      )}
    >
      <span
        aria-hidden="true"
        className={classNames(
          "absolute top-1.5 -left-[4.5px] size-2 rounded-full",
          isThis ? "bg-accent" : "bg-line-strong",
        )}
      />
      <EntryLine placed={placed} isThis={isThis} />
    </li>
  );
}
