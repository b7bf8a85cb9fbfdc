import { Page } from "../../design/page.tsx";

/** Wire. */
export function WirePage() {
  return <Page title="Wire">{undefined}</Page>;
}
