import type { PolicyCheck } from "@reins/api";
import type { z } from "zod";
import { Badge } from "../../design/badge.tsx";
import { Waiting } from "../../design/states.tsx";
import { TestTable } from "./test-table.tsx";

/** What there is to say about a draft before it is used. */
export function DraftCheck({
  check,
  isCurrent,
}: {
  check: z.infer<typeof PolicyCheck> | undefined;
  isCurrent: boolean;
}) {
  if (!check) return <Waiting what="Reading the draft" />;
  const failed = check.tests.filter(({ passed }) => !passed);
  return (
    <section aria-label="What the check found" aria-busy={!isCurrent} className="flex flex-col gap-2 text-sm">
      <p role="status" className="flex flex-wrap items-center gap-2">
        <Badge tone={check.fine ? "good" : "bad"}>{check.fine ? "fine" : "would be refused"}</Badge>
        {check.rules} rules, {check.limits} limits, {check.tests.length} tests
        {check.no_looser !== null && (
          <Badge
            tone={check.no_looser ? "good" : "warn"}
            title={check.no_looser ? "It would apply at once" : "It would wait for an admin"}
          >
            {check.no_looser ? "no looser than what is in force" : "looser, or not seen not to be"}
          </Badge>
        )}
      </p>
      <Faults tone="text-bad" faults={check.faults} />
      <Faults tone="text-warn" faults={check.remarks} />
      {failed.length > 0 && <TestTable tests={failed} />}
    </section>
  );
}

function Faults({ faults, tone }: { faults: z.infer<typeof PolicyCheck>["faults"]; tone: string }) {
  return faults.map(({ message, line, column }) => (
    <p key={`${line}:${column}:${message}`} className={tone}>
      {line !== null && <span className="font-mono text-xs">line {line}: </span>}
      <span className="whitespace-pre-wrap">{message}</span>
    </p>
  ));
}
