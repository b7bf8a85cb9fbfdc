import { Page } from "../../design/page.tsx";

/** Policy. */
export function PolicyPage() {
  return <Page title="Policy">{undefined}</Page>;
}
