import type { AgentDetail } from "@reins/api";
import { useSelf } from "../../app/entrance.tsx";
import { Button } from "../../design/button.tsx";
import { Json } from "../../design/code.tsx";
import { Facts } from "../../design/facts.tsx";
import { Panel } from "../../design/panel.tsx";
import { Failure, Waiting } from "../../design/states.tsx";
import { Credentials } from "./credentials.tsx";
import { Held } from "./held.tsx";
import { InstallControl } from "./install-control.tsx";
import { Provenance } from "./provenance.tsx";
import { useAgent } from "./use-agents.ts";
import { VerifyControl } from "./verify-control.tsx";

/** Everything that is known of one agent. */
export function AgentDetailPanel({ agent, onClose }: { agent: string; onClose: () => void }) {
  const { is_admin } = useSelf();
  const { data, error, refetch } = useAgent(agent);
  return (
    <Panel
      title={data?.name ?? agent}
      className="min-w-0"
      actions={
        <Button kind="quiet" onClick={onClose}>
          Close
        </Button>
      }
    >
      {error ? (
        <div className="p-3">
          <Failure error={error} onRetry={() => void refetch()} />
        </div>
      ) : data ? (
        <>
          <Support agent={data} />
          {is_admin && !data.built_in && <InstallControl agent={data} />}
          <Held agent={data} />
          {is_admin && data.install && !data.built_in && <VerifyControl agent={data} />}
          <Credentials agent={data} />
          <Provenance agent={data} />
          {data.capabilities && (
            <details className="border-t border-line">
              <summary className="cursor-pointer px-3 py-2 text-sm">What it told of itself</summary>
              <Json value={data.capabilities} className="max-h-72 rounded-none" />
            </details>
          )}
        </>
      ) : (
        <Waiting what={`Asking about ${agent}`} />
      )}
    </Panel>
  );
}

function Support({ agent: { support, refused, agent, megabytes, platforms } }: { agent: AgentDetail }) {
  return (
    <>
      {support.level !== "supported" && support.reason !== undefined && (
        <p className="px-3 pt-2 text-sm text-warn">{support.reason}</p>
      )}
      {refused && (
        <p className="px-3 pt-2 text-sm text-warn">It would not open a session: {refused.message}</p>
      )}
      <Facts
        facts={[
          ["Id", <code key="id">{agent}</code>],
          ...(megabytes === null ? [] : ([["Takes", `about ${megabytes} MB`]] as const)),
          ...(platforms.length === 0 ? [] : ([["Made for", platforms.join(", ")]] as const)),
        ]}
      />
    </>
  );
}
