import { type LoadedPolicy, type PolicyStatus, policyOperations } from "@reins/api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { z } from "zod";
import { call } from "../../api/call.ts";
import { useSelf } from "../../app/entrance.tsx";
import { Button } from "../../design/button.tsx";
import { Dialog } from "../../design/dialog.tsx";
import { Hash } from "../../design/hash.tsx";
import { Failure } from "../../design/states.tsx";
import { Backtest } from "./backtest.tsx";
import { RuleChanges } from "./rule-changes.tsx";

/** A changed constitution that lets more through, until an admin says yes. */
export function WaitingPolicy({
  status,
  waiting,
}: {
  status: PolicyStatus;
  waiting: z.infer<typeof LoadedPolicy>;
}) {
  const { is_admin } = useSelf();
  const queries = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const { rules_hash, constitution_hash } = waiting;
  const accept = useMutation({
    mutationFn: () => call(policyOperations.acceptPolicy, { body: { rules_hash, constitution_hash } }),
    onSuccess: (next) => {
      queries.setQueryData(["policy"], next);
      setOpen(false);
    },
  });
  return (
    <section
      aria-label="A policy that waits"
      className="flex flex-wrap items-center gap-3 rounded border border-warn bg-warn-wash px-3 py-2 text-sm"
    >
      <p className="min-w-0 flex-1">
        <span className="font-medium text-warn">A looser constitution waits.</span> The file was changed and
        lets more through, or cannot be seen not to. What was in force stays until an admin accepts it.{" "}
        <Hash value={rules_hash} />
      </p>
      <Button onClick={() => setOpen(true)}>Look at it</Button>
      <Dialog
        open={isOpen}
        onClose={() => setOpen(false)}
        title="A constitution that waits"
        about="What it changes, and what it would have done with what agents did so far."
      >
        <RuleChanges before={status.in_force?.rules ?? []} after={waiting.rules} />
        {status.rules !== null && (
          <Backtest draft={{ rules: status.rules, ...(status.prose !== null && { prose: status.prose }) }} />
        )}
        {accept.error && <Failure error={accept.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={() => setOpen(false)}>Leave it waiting</Button>
          <Button
            kind="primary"
            disabled={!is_admin || accept.isPending}
            title={is_admin ? "" : "Only an admin may"}
            onClick={() => accept.mutate()}
          >
            {accept.isPending ? "Putting it into force …" : "Accept it"}
          </Button>
        </div>
      </Dialog>
    </section>
  );
}
