import { type KillReport, type KillRequest, killOperations } from "@reins/api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "../../api/call.ts";
import { Badge } from "../../design/badge.tsx";
import { Button } from "../../design/button.tsx";
import { Dialog, Form, TextInput } from "../../design/form.tsx";
import { EntryLink } from "../../design/links.tsx";
import { Failure } from "../../design/states.tsx";
import { visible } from "../../design/visible.ts";

/** Confirms a kill, runs it and shows the operating system's report. */
export function KillDialog({
  target,
  open,
  onClose,
  title,
  about,
}: {
  /** Exactly one of session, agent, process and all. */
  target: Pick<KillRequest, "session" | "agent" | "process" | "all">;
  open: boolean;
  onClose: () => void;
  title: string;
  about: string;
}) {
  const queries = useQueryClient();
  const [reason, setReason] = useState("");
  const kill = useMutation<KillReport>({
    mutationFn: () =>
      call(killOperations.kill, { body: { ...target, ...(reason.trim() && { reason: reason.trim() }) } }),
    // Not awaited: the report is shown at once.
    onSettled: () => void queries.invalidateQueries(),
  });
  const close = () => {
    kill.reset();
    setReason("");
    onClose();
  };
  return (
    <Dialog
      open={open}
      onClose={close}
      title={kill.data ? "Result" : title}
      about={kill.data ? "As reported by the operating system." : about}
    >
      {kill.data ? (
        <>
          <KillReportView report={kill.data} />
          <div className="flex justify-end">
            <Button onClick={close}>Close</Button>
          </div>
        </>
      ) : (
        <Form className="flex flex-col gap-3" onSubmit={() => kill.mutate()}>
          <TextInput
            label="Reason"
            hint="recorded in the ledger under your name"
            value={reason}
            maxLength={1_024}
            placeholder="what it was doing"
            onChange={setReason}
          />
          <Failure error={kill.error} />
          <div className="flex justify-end gap-2">
            <Button onClick={close}>Cancel</Button>
            <Button kind="danger" type="submit" disabled={kill.isPending}>
              {kill.isPending ? "Killing …" : "Kill"}
            </Button>
          </div>
        </Form>
      )}
    </Dialog>
  );
}

function KillReportView({ report }: { report: KillReport }) {
  const { gone, left, inside, visibility, entry } = report;
  return (
    <div role="status" className="flex flex-col gap-2 text-sm">
      <p className="flex flex-wrap items-center gap-2">
        <Badge tone="good">{gone.length} gone</Badge>
        {left.length > 0 && <Badge tone="bad">{left.length} still running</Badge>}
        {inside.length > 0 && <Badge>{inside.length} inside Reins ended</Badge>}
        {entry === null ? (
          <span className="text-ink-soft">The ledger entry follows as soon as it can be written.</span>
        ) : (
          <EntryLink cid={entry}>in the ledger</EntryLink>
        )}
      </p>
      {gone.length + left.length + inside.length === 0 && (
        <p className="text-ink-soft">No process was running.</p>
      )}
      <ProcessList label="Still in the process table" processes={left} />
      <ProcessList label="Gone from the process table" processes={gone} />
      {visibility === "group" && (
        <p className="text-warn">
          This system shows Reins process groups only. Processes that left their group may still run.
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
