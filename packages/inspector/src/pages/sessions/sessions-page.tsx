import { Page } from "../../design/page.tsx";

/** Sessions. */
export function SessionsPage() {
  return <Page title="Sessions">{undefined}</Page>;
}
