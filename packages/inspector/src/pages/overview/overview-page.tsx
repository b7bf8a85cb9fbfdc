import { Page } from "../../design/page.tsx";

/** Overview. */
export function OverviewPage() {
  return <Page title="Overview">{undefined}</Page>;
}
