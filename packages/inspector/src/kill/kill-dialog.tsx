import { type KillReport, type KillRequest, killOperations } from "@reins/api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "../api/call.ts";
import { Button } from "../design/button.tsx";
import { Dialog } from "../design/dialog.tsx";
import { Field, TextInput } from "../design/field.tsx";
import { Failure } from "../design/states.tsx";
import { KillReportView } from "./kill-report-view.tsx";

/** Asks whether to end something at once, does it, and shows what the operating system says became of it. */
export function KillDialog({
  target,
  open,
  onClose,
  title,
  about,
}: {
  /** One of session, agent, process and all. */
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
    // Not waited for: what became of the kill is shown at once.
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
      title={kill.data ? "What became of it" : title}
      about={kill.data ? "As the operating system says." : about}
    >
      {kill.data ? (
        <>
          <KillReportView report={kill.data} />
          <div className="flex justify-end">
            <Button onClick={close}>Close</Button>
          </div>
        </>
      ) : (
        <form
          className="flex flex-col gap-3"
          onSubmit={(event) => {
            event.preventDefault();
            kill.mutate();
          }}
        >
          <Field label="Reason" hint="kept in the ledger, signed with your name">
            {(id) => (
              <TextInput
                id={id}
                value={reason}
                maxLength={1_024}
                placeholder="what it was doing"
                onChange={({ target: { value } }) => setReason(value)}
              />
            )}
          </Field>
          {kill.error && <Failure error={kill.error} />}
          <div className="flex justify-end gap-2">
            <Button onClick={close}>Leave it running</Button>
            <Button kind="danger" type="submit" disabled={kill.isPending}>
              {kill.isPending ? "Killing …" : "Kill"}
            </Button>
          </div>
        </form>
      )}
    </Dialog>
  );
}
