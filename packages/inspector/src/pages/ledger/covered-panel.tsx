import type { PlacedEntry } from "@reins/api";
import { Link } from "@tanstack/react-router";
import { Panel } from "../../design/panel.tsx";
import { EntryLink } from "../../proof/entry-link.tsx";
import { TurnPanel } from "./turn-panel.tsx";

/** What an entry names: the verdict before a call, the steps of a turn, the approval it is about. */
export function CoveredPanel({ placed }: { placed: PlacedEntry }) {
  const { quality, payload } = placed.entry;
  const { verdict, approval, entries } = Object(payload);
  if (quality === "turn") return <TurnPanel placed={placed} cids={cidsIn(entries)} />;
  if (quality === "approval" && typeof approval === "string")
    return (
      <Panel title="The approval">
        <p className="px-3 py-2 text-sm">
          <Link to="/approvals" search={{ approval }} className="text-accent underline">
            What was asked, and what was answered
          </Link>
        </p>
      </Panel>
    );
  if (quality !== "tool_call" && quality !== "tool_result") return null;
  const [cid] = cidsIn([verdict]);
  return cid === undefined ? (
    <Panel title="No verdict came first">
      <p className="px-3 py-2 text-sm text-ink-soft">
        The agent did not ask before it did this. What was decided afterwards is in the entries that follow.
      </p>
    </Panel>
  ) : (
    <Panel title="The verdict that came first">
      <p className="px-3 py-2 text-sm">
        <EntryLink cid={cid}>Why it was allowed, and the proof</EntryLink>
      </p>
    </Panel>
  );
}

function cidsIn(value: unknown): string[] {
  return Array.isArray(value)
    ? value.filter((one) => typeof one === "string" && /^[0-9a-f]{64}$/.test(one))
    : [];
}
