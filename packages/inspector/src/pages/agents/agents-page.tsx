import { type AgentProcess, agentsOperations, type KeptStderr } from "@reins/api";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { z } from "zod";
import { call } from "../../api/call.ts";
import { useChange, useGet } from "../../api/queries.ts";
import { useSelf } from "../../app/sign-in.tsx";
import { Badge } from "../../design/badge.tsx";
import { Button } from "../../design/button.tsx";
import { Code } from "../../design/code.tsx";
import { bytes } from "../../design/format.ts";
import { Page, Panel } from "../../design/layout.tsx";
import { SessionLink, TextLink } from "../../design/links.tsx";
import { Moment } from "../../design/moment.tsx";
import { Empty, Failure, Loaded } from "../../design/states.tsx";
import { Table } from "../../design/table.tsx";
import { AgentDetailPanel } from "./agent-detail.tsx";
import { Catalogue, useAgents } from "./catalogue.tsx";
import { KillDialog } from "./kill-dialog.tsx";

const PROCESSES = ["processes"] as const;

/** The running agent processes with memory, sessions and standard error. */
export function ProcessTable() {
  const [killing, setKilling] = useState<AgentProcess>();
  const query = useGet(PROCESSES, agentsOperations.listAgentProcesses, { everyMs: 3_000 });
  return (
    <>
      {killing && (
        <KillDialog
          open
          target={{ process: killing.id }}
          onClose={() => setKilling(undefined)}
          title={`Kill ${killing.agent}?`}
          about={`Process ${killing.pid ?? killing.id} and its child processes end immediately. Its sessions remain.`}
        />
      )}
      <Loaded query={query} what="Loading processes">
        {({ processes }) => <Processes processes={processes} onKill={setKilling} />}
      </Loaded>
    </>
  );
}

function Processes({
  processes,
  onKill,
}: {
  processes: readonly AgentProcess[];
  onKill: (process: AgentProcess) => void;
}) {
  const { is_admin } = useSelf();
  const [opened, setOpened] = useState<string>();
  const restart = useChange(PROCESSES, ({ agent, id }: AgentProcess) =>
    call(agentsOperations.restartAgentProcess, { params: { agent, process: id } }),
  );
  return (
    <>
      <Failure error={restart.error} />
      <Table
        label="Running agents"
        rows={processes}
        keyOf={({ id }) => id}
        empty={
          <Empty title="No agent is running">
            <TextLink to="/sessions">Start a session</TextLink> to see its agent here.
          </Empty>
        }
        below={({ id, stderr }) => opened === id && stderr && <StandardError stderr={stderr} />}
        columns={[
          {
            title: "Agent",
            cell: ({ agent, version, confined }) => (
              <span className="flex flex-wrap items-center gap-1.5">
                {agent} <code className="text-2xs text-ink-faint">{version}</code>
                {confined && <Badge tone="good">confined</Badge>}
              </span>
            ),
          },
          { title: "Process", isExact: true, cell: ({ pid }) => pid ?? "inside Reins" },
          { title: "For", className: "text-ink-soft", cell: ({ principal }) => principal },
          {
            title: "Memory",
            isNumber: true,
            cell: ({ memory_bytes, pid, processes: count }) => (
              <>
                {memory_bytes === null || pid === null ? "–" : bytes(memory_bytes)}
                {(count ?? 1) > 1 && <span className="block text-2xs text-ink-faint">{count} processes</span>}
              </>
            ),
          },
          {
            title: "Since",
            className: "text-ink-soft",
            cell: ({ started_at }) => <Moment at={started_at} />,
          },
          {
            title: "Sessions",
            cell: ({ sessions }) =>
              sessions.map((id) => (
                <div key={id}>
                  <SessionLink id={id} length={10} />
                </div>
              )),
          },
          {
            title: "Actions",
            isHidden: true,
            cell: (process) => (
              <span className="flex justify-end gap-1.5">
                {process.stderr && (
                  <Button
                    kind="quiet"
                    aria-expanded={opened === process.id}
                    onClick={() => setOpened(opened === process.id ? undefined : process.id)}
                  >
                    Standard error
                  </Button>
                )}
                {is_admin && (
                  <>
                    <Button
                      disabled={restart.isPending}
                      title="Ends the process gracefully; the next prompt starts a new one"
                      onClick={() => restart.mutate(process)}
                    >
                      Restart
                    </Button>
                    <Button kind="danger" onClick={() => onKill(process)}>
                      Kill
                    </Button>
                  </>
                )}
              </span>
            ),
          },
        ]}
      />
    </>
  );
}

function StandardError({ stderr: { head, tail, omitted } }: { stderr: z.infer<typeof KeptStderr> }) {
  if (head === "" && tail === "") return <p className="text-sm text-ink-soft">No output.</p>;
  const middle = omitted > 0 ? `\n… ${bytes(omitted)} omitted …\n` : "";
  return <Code text={`${head}${middle}${tail}`} className="max-h-64" />;
}

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
