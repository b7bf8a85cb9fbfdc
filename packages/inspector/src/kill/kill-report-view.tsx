import type { KillReport } from "@reins/api";
import { Badge } from "../design/badge.tsx";
import { visible } from "../design/visible.ts";
import { EntryLink } from "../proof/entry-link.tsx";

/** What became of a kill, as the operating system says. */
export function KillReportView({ report }: { report: KillReport }) {
  const { gone, left, inside, sight, entry } = report;
  return (
    <div role="status" className="flex flex-col gap-2 text-sm">
      <p className="flex flex-wrap items-center gap-2">
        <Badge tone="good">{gone.length} gone</Badge>
        {left.length > 0 && <Badge tone="bad">{left.length} still there</Badge>}
        {inside.length > 0 && <Badge>{inside.length} inside Reins ended</Badge>}
        {entry === null ? (
          <span className="text-ink-soft">The ledger's entry follows as soon as it can be written.</span>
        ) : (
          <EntryLink cid={entry}>in the ledger</EntryLink>
        )}
      </p>
      {gone.length + left.length + inside.length === 0 && (
        <p className="text-ink-soft">There was nothing to end.</p>
      )}
      <ProcessList label="Still in the process table" processes={left} />
      <ProcessList label="Gone from the process table" processes={gone} />
      {sight === "group" && (
        <p className="text-warn">
          This system only let Reins see process groups. What left its group on purpose may still run.
        </p>
      )}
    </div>
  );
}

function ProcessList({ label, processes }: { label: string; processes: KillReport["gone"] }) {
  if (processes.length === 0) return null;
  return (
    <div>
      <h3 className="text-2xs font-medium text-ink-faint">{label}</h3>
      <ul className="max-h-40 overflow-auto font-mono text-xs">
        {processes.map(({ pid, command }) => (
          <li key={pid} className="truncate">
            {pid} {visible(command)}
          </li>
        ))}
      </ul>
    </div>
  );
}
