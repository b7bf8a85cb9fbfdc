import type { PlacedEntry } from "@reins/api";
import { Panel } from "../../design/panel.tsx";
import { EntryLink } from "../../proof/entry-link.tsx";

/** Other entries that one names: the verdict before a call, the steps of a turn. */
export function CoveredPanel({ entry: { quality, payload } }: { entry: PlacedEntry["entry"] }) {
  const said = Object(payload);
  if (quality === "turn") return <Named title="Entries that this turn covers" cids={cidsIn(said.entries)} />;
  if (quality !== "tool_call" && quality !== "tool_result") return null;
  const verdict = cidsIn([said.verdict]);
  return verdict.length > 0 ? (
    <Named title="The verdict that came first" cids={verdict} />
  ) : (
    <Panel title="No verdict came first">
      <p className="px-3 py-2 text-sm text-ink-soft">
        {quality === "tool_call"
          ? "The agent told of this call without having asked for it. What became of it is in the entries that follow."
          : "This result belongs to a call that the agent did not ask for."}
      </p>
    </Panel>
  );
}

function Named({ title, cids }: { title: string; cids: readonly string[] }) {
  return (
    <Panel title={title}>
      <ul className="flex flex-wrap gap-x-3 gap-y-1 px-3 py-2">
        {cids.map((cid) => (
          <li key={cid}>
            <EntryLink cid={cid} />
          </li>
        ))}
      </ul>
      {cids.length === 0 && <p className="px-3 pb-2 text-sm text-ink-soft">None.</p>}
    </Panel>
  );
}

function cidsIn(value: unknown): string[] {
  return Array.isArray(value)
    ? value.filter((one) => typeof one === "string" && /^[0-9a-f]{64}$/.test(one))
    : [];
}
