import { count } from "../design/number.ts";
import { useComparison } from "./use-comparison.ts";

/** Says in a line whether the ledger is the one that this browser saw before. */
export function ComparisonLine() {
  const { data, error } = useComparison();
  if (error) return <>It could not be compared with what this browser saw: {error.message}</>;
  if (!data) return <>Comparing with what this browser saw before …</>;
  if (data.kind === "first")
    return (
      <>
        First look at this ledger: {count(data.now.size)} entries. A change of what it says will be noticed.
      </>
    );
  if (data.kind === "broken")
    return <span className="font-medium text-bad">This is not the history that was here before.</span>;
  return (
    <>
      {count(data.now.size)} entries that begin with the {count(data.before.size)} this browser saw before:
      nothing was changed.
    </>
  );
}
