import { Page } from "../../design/page.tsx";

/** Ledger. */
export function LedgerPage() {
  return <Page title="Ledger">{undefined}</Page>;
}
