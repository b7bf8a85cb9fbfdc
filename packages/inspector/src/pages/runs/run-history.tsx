import { type Run, runOperations } from "@reins/api";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { Tailed, type TailSource, useTail } from "../../api/tail.tsx";
import { Badge, StatusBadge } from "../../design/badge.tsx";
import { visible } from "../../design/format.ts";
import { Panel } from "../../design/layout.tsx";
import { Moment } from "../../design/moment.tsx";
import { Empty } from "../../design/states.tsx";
import { fetchRunEvents, type RunEvent, runState, type Transition, transitions } from "./run-events.ts";

/** The checks of a run; nothing if it has none. */
export function Checks({ run }: { run: Run }) {
  const { verification } = runState(run);
  if (!verification || verification.checks.length === 0) return null;
  return (
    <Panel title="Checks">
      <StatusList
        lines={verification.checks.map(({ subject, status, message }) => ({
          key: subject,
          title: message ? `${subject}: ${message}` : subject,
          status,
        }))}
      />
    </Panel>
  );
}

/** Titles with their statuses. */
export function StatusList({
  lines,
}: {
  lines: readonly { readonly key: string; readonly title: string; readonly status: string }[];
}) {
  return (
    <ul className="flex flex-col gap-1 px-3 py-2 text-sm">
      {lines.map(({ key, title, status }) => (
        <li key={key} className="flex items-baseline gap-2">
          <StatusBadge status={status} /> <span className="min-w-0 break-words">{visible(title)}</span>
        </li>
      ))}
    </ul>
  );
}

/** The history of a run, newest first, extended as events arrive. */
export function RunEvents({ id }: { id: string }) {
  const queries = useQueryClient();
  const source = useMemo(
    (): TailSource<RunEvent, typeof runOperations.streamRuns.query> => ({
      stream: runOperations.streamRuns,
      query: { run: id },
      list: (signal) => fetchRunEvents(id, signal),
    }),
    [id],
  );
  const tail = useTail(source, false);
  const newest = tail.all.at(-1)?.seq;
  useEffect(() => {
    if (newest !== undefined) void queries.invalidateQueries({ queryKey: ["runs", id] });
  }, [queries, id, newest]);
  return (
    <Tailed
      tail={tail}
      what="Loading events"
      empty={<Empty title="No events are kept">Events older than the retention period are deleted.</Empty>}
    >
      {(all) => (
        <ol aria-label="Events of the run" className="divide-y divide-line">
          {transitions(all)
            .toReversed()
            .map((transition) => (
              <TransitionRow key={transition.seq} transition={transition} />
            ))}
        </ol>
      )}
    </Tailed>
  );
}

const CONTRACTS = { run_lifecycle: "run", task_list: "tasks", verification: "verification" } as const;

function TransitionRow({ transition: { at, contract, status, changes, fault } }: { transition: Transition }) {
  return (
    <li className="flex flex-col gap-1 px-3 py-2 text-sm">
      <span className="flex flex-wrap items-center gap-2">
        <span className="text-2xs text-ink-faint">{CONTRACTS[contract]}</span>
        {status !== undefined && <StatusBadge status={status} />}
        {fault !== null && <Badge tone="bad">rejected</Badge>}
        <span className="ml-auto text-2xs text-ink-faint">
          <Moment at={at} />
        </span>
      </span>
      {fault !== null && <p className="text-bad">{visible(fault)}</p>}
      {changes.length === 0 && status === undefined && <p className="text-ink-soft">No task changed.</p>}
      {changes.length > 0 && (
        <ul className="text-ink-soft">
          {changes.map((change) => (
            <li key={change} className="break-words">
              {visible(change)}
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}
