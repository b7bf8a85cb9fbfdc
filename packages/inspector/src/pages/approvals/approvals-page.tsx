import { Page } from "../../design/page.tsx";

/** Approvals. */
export function ApprovalsPage() {
  return <Page title="Approvals">{undefined}</Page>;
}
