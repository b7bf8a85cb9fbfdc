import { type AgentProcess, agentsOperations, type KeptStderr } from "@reins/api";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Fragment, useState } from "react";
import type { z } from "zod";
import { call } from "../../api/call.ts";
import { useSelf } from "../../app/sign-in.tsx";
import { Badge } from "../../design/badge.tsx";
import { Button } from "../../design/button.tsx";
import { Code } from "../../design/code.tsx";
import { bytes } from "../../design/format.ts";
import { Moment } from "../../design/moment.tsx";
import { Empty, Failure, Waiting } from "../../design/states.tsx";
import { Cell, Table } from "../../design/table.tsx";
import { KillDialog } from "./kill-dialog.tsx";

/** The running agent processes with memory, sessions and standard error. */
export function ProcessTable() {
  const { is_admin } = useSelf();
  const queries = useQueryClient();
  const [killing, setKilling] = useState<AgentProcess>();
  const [opened, setOpened] = useState<string>();
  const { data, error, refetch } = useQuery({
    queryKey: ["processes"],
    queryFn: ({ signal }) => call(agentsOperations.listAgentProcesses, { signal }),
    refetchInterval: 3_000,
  });
  const restart = useMutation({
    mutationFn: ({ agent, id }: AgentProcess) =>
      call(agentsOperations.restartAgentProcess, { params: { agent, process: id } }),
    onSettled: () => queries.invalidateQueries({ queryKey: ["processes"] }),
  });
  if (error)
    return (
      <div className="p-3">
        <Failure error={error} onRetry={() => void refetch()} />
      </div>
    );
  if (!data) return <Waiting what="Loading processes" />;
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
      {restart.error && (
        <div className="p-3">
          <Failure error={restart.error} />
        </div>
      )}
      {data.processes.length === 0 ? (
        <Empty title="No agent is running">
          <Link to="/sessions" className="text-accent underline">
            Start a session
          </Link>{" "}
          to see its agent here.
        </Empty>
      ) : (
        <Table
          label="Running agents"
          columns={[
            { title: "Agent" },
            { title: "Process" },
            { title: "For" },
            { title: "Memory", isNumber: true },
            { title: "Since" },
            { title: "Sessions" },
            { title: "Actions", isHidden: true },
          ]}
        >
          {data.processes.map((process) => (
            <Fragment key={process.id}>
              <tr>
                <Cell>
                  <span className="flex flex-wrap items-center gap-1.5">
                    {process.agent} <code className="text-2xs text-ink-faint">{process.version}</code>
                    {process.confined && <Badge tone="good">confined</Badge>}
                  </span>
                </Cell>
                <Cell isExact>{process.pid ?? "inside Reins"}</Cell>
                <Cell className="text-ink-soft">{process.principal}</Cell>
                <Cell isNumber>
                  {process.memory_bytes === null || process.pid === null ? "–" : bytes(process.memory_bytes)}
                  {(process.processes ?? 1) > 1 && (
                    <span className="block text-2xs text-ink-faint">{process.processes} processes</span>
                  )}
                </Cell>
                <Cell className="text-ink-soft">
                  <Moment at={process.started_at} />
                </Cell>
                <Cell>
                  {process.sessions.map((id) => (
                    <Link
                      key={id}
                      to="/sessions/$id"
                      params={{ id }}
                      className="block font-mono text-xs text-accent hover:underline"
                    >
                      {id.slice(0, 10)}…
                    </Link>
                  ))}
                </Cell>
                <Cell>
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
                        <Button kind="danger" onClick={() => setKilling(process)}>
                          Kill
                        </Button>
                      </>
                    )}
                  </span>
                </Cell>
              </tr>
              {opened === process.id && process.stderr && (
                <tr>
                  <td colSpan={7} className="px-3 pb-2">
                    <StandardError stderr={process.stderr} />
                  </td>
                </tr>
              )}
            </Fragment>
          ))}
        </Table>
      )}
    </>
  );
}

/** The beginning and the end of a process's standard error. */
function StandardError({ stderr: { head, tail, omitted } }: { stderr: z.infer<typeof KeptStderr> }) {
  if (head === "" && tail === "") return <p className="text-sm text-ink-soft">No output.</p>;
  const middle = omitted > 0 ? `\n… ${bytes(omitted)} omitted …\n` : "";
  return <Code text={`${head}${middle}${tail}`} className="max-h-64" />;
}
