import { Link } from "@tanstack/react-router";
import { Page } from "../design/page.tsx";
import { Empty } from "../design/states.tsx";

/** What is at addresses that nothing is at. */
export function NoPage() {
  return (
    <Page title="Nothing is here">
      <Empty title="This address leads nowhere">
        It may have been mistyped.{" "}
        <Link to="/" className="text-accent underline">
          The overview
        </Link>{" "}
        knows the way.
      </Empty>
    </Page>
  );
}
