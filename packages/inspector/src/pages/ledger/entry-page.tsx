import { Page } from "../../design/page.tsx";

/** One entry of the ledger. */
export function EntryPage() {
  return <Page title="Entry">{undefined}</Page>;
}
