import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../design/button.tsx";
import { Code } from "../design/code.tsx";
import { Dialog } from "../design/form.tsx";
import { count } from "../design/format.ts";
import { COMPARISON, type Comparison, trustFromNow, useComparison } from "./compare.ts";

/** A warning above every page if the server shows another history than this browser verified before. */
export function BrokenHistory() {
  const { data } = useComparison();
  const [isOpen, setOpen] = useState(false);
  if (data?.kind !== "broken") return null;
  return (
    <div
      role="alert"
      className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b-2 border-bad bg-bad-wash px-4 py-3"
    >
      <div className="min-w-0 flex-1">
        <p className="font-semibold text-bad">
          The ledger differs from the one that this browser verified before
        </p>
        <p className="text-sm break-words">{data.why}</p>
      </div>
      <Button kind="danger" onClick={() => setOpen(true)}>
        What now?
      </Button>
      <Dialog
        open={isOpen}
        onClose={() => setOpen(false)}
        title="The history was changed"
        about="The record was rewritten, an old copy was restored, or another Reins runs at this address."
      >
        <Evidence data={data} onTrust={() => setOpen(false)} />
      </Dialog>
    </div>
  );
}

function Evidence({ data, onTrust }: { data: Comparison & { kind: "broken" }; onTrust: () => void }) {
  const queries = useQueryClient();
  const trust = () => {
    trustFromNow(data.now);
    onTrust();
    void queries.invalidateQueries({ queryKey: COMPARISON });
  };
  return (
    <>
      {data.before && (
        <>
          <p className="text-sm">
            This browser saw {count(data.before.size)} entries on {new Date(data.before.at).toLocaleString()}.
            The signed checkpoint of then is the evidence; keep it:
          </p>
          <Code text={data.before.note} />
        </>
      )}
      <p className="text-sm">What the server shows now, {count(data.now.size)} entries:</p>
      <Code text={data.now.note} />
      <p className="text-sm">
        If you know that a backup was restored or the home was recreated, this browser can start over from
        what is there now. It forgets what it saw before.
      </p>
      <div className="flex justify-end gap-2">
        <Button kind="danger" onClick={trust}>
          Forget and start over
        </Button>
      </div>
    </>
  );
}

/** One line: whether the ledger is consistent with the kept checkpoint. */
export function ComparisonLine() {
  const { data, error } = useComparison();
  if (error) return <>It could not be compared with what this browser saw: {error.message}</>;
  if (!data) return <>Comparing with the kept checkpoint …</>;
  if (data.kind === "first")
    return (
      <>
        First look at this ledger: {count(data.now.size)} entries. A change of what it says will be noticed.
      </>
    );
  if (data.kind === "broken")
    return <span className="font-medium text-bad">The history differs from the kept checkpoint.</span>;
  return (
    <>
      {count(data.now.size)} entries that begin with the {count(data.before.size)} this browser saw before:
      nothing was changed.
    </>
  );
}
