import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { z } from "zod";
import { useSelf } from "../../app/sign-in.tsx";
import { Button } from "../../design/button.tsx";
import { Page, Panel } from "../../design/layout.tsx";
import { Loaded } from "../../design/states.tsx";
import { AgentDetailPanel } from "./agent-detail.tsx";
import { Catalogue, useAgents } from "./catalogue.tsx";
import { KillDialog } from "./kill-dialog.tsx";
import { ProcessTable } from "./process-table.tsx";

const AgentsSearch = z.object({ agent: z.string().optional().catch(undefined) });

/** Agents: running processes, catalogue and details. */
export function AgentsPage() {
  const { agent } = AgentsSearch.parse(useSearch({ strict: false }));
  const { is_admin } = useSelf();
  const navigate = useNavigate();
  const [isKilling, setKilling] = useState(false);
  const choose = (chosen: string | undefined) =>
    void navigate({ to: "/agents", search: chosen === undefined ? {} : { agent: chosen }, replace: true });
  return (
    <Page
      title="Agents"
      about="Available agents, their enforcement level, and running processes."
      actions={
        is_admin && (
          <Button kind="danger" onClick={() => setKilling(true)}>
            Kill everything
          </Button>
        )
      }
    >
      <KillDialog
        target={{ all: true }}
        open={isKilling}
        onClose={() => setKilling(false)}
        title="Kill everything?"
        about="Ends every process of every agent immediately. Sessions remain and can be resumed."
      />
      <Panel title="Running now">
        <ProcessTable />
      </Panel>
      <div className="grid min-w-0 items-start gap-3 lg:grid-cols-[minmax(0,1fr)_28rem]">
        <Panel title="Catalogue" className="min-w-0">
          <Loaded query={useAgents()} what="Loading the catalogue">
            {(agents) => <Catalogue agents={agents} chosen={agent} onChoose={choose} />}
          </Loaded>
        </Panel>
        {agent === undefined ? (
          <Panel title="Agent details">
            <p className="px-3 py-4 text-sm text-ink-soft">
              Select an agent to see its origin and verification, and to install it.
            </p>
          </Panel>
        ) : (
          <div className="min-w-0 max-lg:order-first">
            <AgentDetailPanel key={agent} agent={agent} onClose={() => choose(undefined)} />
          </div>
        )}
      </div>
    </Page>
  );
}
