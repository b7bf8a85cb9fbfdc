import type { Fault } from "@reins/verify";
import { visible } from "../design/visible.ts";

/** The faults of a ledger or a proof, with their positions. */
export function FaultList({ faults }: { faults: readonly Fault[] }) {
  if (faults.length === 0) return null;
  return (
    <ul className="flex max-h-72 flex-col gap-1.5 overflow-auto border-t border-line px-3 py-2 text-sm">
      {faults.map((fault) => (
        <li key={`${fault.seq}${fault.line}${fault.code}${fault.message}`}>
          <span className="font-medium text-bad">
            {fault.seq === undefined ? "" : `Entry ${fault.seq}: `}
            {visible(fault.message)}
          </span>{" "}
          <code className="text-2xs text-ink-faint">{fault.code}</code>
          {fault.expected !== undefined && (
            <p className="break-all text-ink-soft">expected {visible(fault.expected)}</p>
          )}
          {fault.found !== undefined && (
            <p className="break-all text-ink-soft">found {visible(fault.found)}</p>
          )}
        </li>
      ))}
    </ul>
  );
}
