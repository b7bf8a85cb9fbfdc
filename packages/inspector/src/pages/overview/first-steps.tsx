import { Link } from "@tanstack/react-router";
import { Panel } from "../../design/panel.tsx";

const STEP =
  "flex flex-col gap-1 border-line p-4 max-lg:border-t max-lg:first:border-t-0 lg:border-l lg:first:border-l-0";

/** What somebody who is here for the first time can try, in a minute. */
export function FirstSteps() {
  return (
    <Panel title="Three things to try">
      <ol className="grid lg:grid-cols-3">
        <li className={STEP}>
          <p className="font-medium">1. Talk to an agent</p>
          <p className="text-sm text-ink-soft">
            <Link to="/sessions" search={{ start: true }} className="text-accent underline">
              Start a session
            </Link>{" "}
            with the native agent. It needs no account and comes with Reins. Or{" "}
            <Link to="/agents" className="text-accent underline">
              install another
            </Link>
            .
          </p>
        </li>
        <li className={STEP}>
          <p className="font-medium">2. Watch it be stopped</p>
          <p className="text-sm text-ink-soft">
            Ask it to <code>read .env</code>: the constitution blocks that. Ask it to <code>run `make`</code>:
            it waits for you in{" "}
            <Link to="/approvals" className="text-accent underline">
              approvals
            </Link>
            .
          </p>
        </li>
        <li className={STEP}>
          <p className="font-medium">3. See the proof</p>
          <p className="text-sm text-ink-soft">
            Open the verdict in the{" "}
            <Link to="/ledger" className="text-accent underline">
              ledger
            </Link>
            : which rule decided and why, and the proof, checked by this page itself.
          </p>
        </li>
      </ol>
    </Panel>
  );
}
