import { Page } from "../../design/page.tsx";

/** Agents. */
export function AgentsPage() {
  return <Page title="Agents">{undefined}</Page>;
}
