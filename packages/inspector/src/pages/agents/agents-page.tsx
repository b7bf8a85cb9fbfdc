import {
  type AgentProcess,
  agentsOperations,
  type KeptStderr,
  type KillReport,
  type KillRequest,
  killOperations,
} from "@reins/api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { z } from "zod";
import { call, useChange, useGet } from "../../api/queries.ts";
import { useSelf } from "../../app/sign-in.tsx";
import { Badge } from "../../design/badge.tsx";
import { Button } from "../../design/button.tsx";
import { Code } from "../../design/code.tsx";
import { Dialog, Form, TextInput } from "../../design/form.tsx";
import { bytes, visible } from "../../design/format.ts";
import { Page, Panel } from "../../design/layout.tsx";
import { EntryLink, SessionLink, TextLink } from "../../design/markdown.tsx";
import { Moment } from "../../design/moment.tsx";
import { Empty, Failure, Loaded } from "../../design/states.tsx";
import { Table } from "../../design/table.tsx";
import { AgentDetailPanel } from "./agent-detail.tsx";
import { Catalogue, useAgents } from "./catalogue.tsx";

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

/** Confirms a kill, runs it and shows the operating system's report. */
export function KillDialog({
  target,
  open,
  onClose,
  title,
  about,
}: {
  /** Exactly one of session, agent, process and all. */
  target: Pick<KillRequest, "session" | "agent" | "process" | "all">;
  open: boolean;
  onClose: () => void;
  title: string;
  about: string;
}) {
  const queries = useQueryClient();
  const [reason, setReason] = useState("");
  const kill = useMutation<KillReport>({
    mutationFn: () =>
      call(killOperations.kill, { body: { ...target, ...(reason.trim() && { reason: reason.trim() }) } }),
    // Not awaited: the report is shown at once.
    onSettled: () => void queries.invalidateQueries(),
  });
  const close = () => {
    kill.reset();
    setReason("");
    onClose();
  };
  return (
    <Dialog
      open={open}
      onClose={close}
      title={kill.data ? "Result" : title}
      about={kill.data ? "As reported by the operating system." : about}
    >
      {kill.data ? (
        <>
          <KillReportView report={kill.data} />
          <div className="flex justify-end">
            <Button onClick={close}>Close</Button>
          </div>
        </>
      ) : (
        <Form className="flex flex-col gap-3" onSubmit={() => kill.mutate()}>
          <TextInput
            label="Reason"
            hint="recorded in the ledger under your name"
            value={reason}
            maxLength={1_024}
            placeholder="what it was doing"
            onChange={setReason}
          />
          <Failure error={kill.error} />
          <div className="flex justify-end gap-2">
            <Button onClick={close}>Cancel</Button>
            <Button kind="danger" type="submit" disabled={kill.isPending}>
              {kill.isPending ? "Killing …" : "Kill"}
            </Button>
          </div>
        </Form>
      )}
    </Dialog>
  );
}

function KillReportView({ report }: { report: KillReport }) {
  const { gone, left, inside, visibility, entry } = report;
  return (
    <div role="status" className="flex flex-col gap-2 text-sm">
      <p className="flex flex-wrap items-center gap-2">
        <Badge tone="good">{gone.length} gone</Badge>
        {left.length > 0 && <Badge tone="bad">{left.length} still running</Badge>}
        {inside.length > 0 && <Badge>{inside.length} inside Reins ended</Badge>}
        {entry === null ? (
          <span className="text-ink-soft">The ledger entry follows as soon as it can be written.</span>
        ) : (
          <EntryLink cid={entry}>in the ledger</EntryLink>
        )}
      </p>
      {gone.length + left.length + inside.length === 0 && (
        <p className="text-ink-soft">No process was running.</p>
      )}
      <ProcessList label="Still in the process table" processes={left} />
      <ProcessList label="Gone from the process table" processes={gone} />
      {visibility === "group" && (
        <p className="text-warn">
          This system shows Reins process groups only. Processes that left their group may still run.
        </p>
      )}
    </div>
  );
}

function ProcessList({ label, processes }: { label: string; processes: KillReport["gone"] }) {
  if (processes.length === 0) return null;
  return (
    <div>
      <h3 className="text-2xs font-medium text-ink-faint">{label}</h3>
      <ul className="max-h-40 overflow-auto font-mono text-xs">
        {processes.map(({ pid, command }) => (
          <li key={pid} className="truncate">
            {pid} {visible(command)}
          </li>
        ))}
      </ul>
    </div>
  );
}
