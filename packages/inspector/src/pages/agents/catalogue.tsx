import { type Agent, type AgentDetail, agentsOperations } from "@reins/api";
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { call, useGet } from "../../api/queries.ts";
import { focusSelected, useListKeys } from "../../app/keys.ts";
import { Badge, LevelBadge, type Tone } from "../../design/badge.tsx";
import { classNames } from "../../design/layout.tsx";

/** Every agent of the catalogue with its state. */
export function Catalogue({
  agents,
  chosen,
  onChoose,
}: {
  agents: readonly Agent[];
  chosen: string | undefined;
  onChoose: (agent: string) => void;
}) {
  const sorted = useMemo(() => agents.toSorted((one, other) => rankOf(one) - rankOf(other)), [agents]);
  const focused = useListKeys(useMemo(() => sorted.map(({ agent }) => agent), [sorted]));
  return (
    <ul className="divide-y divide-line">
      {sorted.map((agent) => (
        <li key={agent.agent}>
          <button
            type="button"
            ref={agent.agent === focused ? focusSelected : undefined}
            aria-pressed={agent.agent === chosen}
            onClick={() => onChoose(agent.agent)}
            className={classNames(
              "flex w-full cursor-pointer flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2 text-left text-sm hover:bg-sunken",
              agent.agent === chosen && "bg-accent-wash",
            )}
          >
            <span className="w-36 min-w-0">
              <span className="block truncate font-medium">{agent.name}</span>
              <code className="block truncate text-2xs text-ink-faint">{agent.agent}</code>
            </span>
            <span className="flex flex-1 flex-wrap items-center gap-1.5">
              <InstallBadge agent={agent} />
              {agent.install && <VerificationBadge verification={agent.verification} />}
              {agent.install && <LevelBadge level={agent.enforcement.level} />}
              {lacksCredentials(agent) && (
                <Badge tone="warn" title={`any of ${agent.credentials.missing.join(", ")}`}>
                  no credentials
                </Badge>
              )}
            </span>
            {agent.running > 0 && <Badge tone="accent">{agent.running} running</Badge>}
          </button>
        </li>
      ))}
    </ul>
  );
}

function InstallBadge({ agent: { install, installing, support, built_in, megabytes } }: { agent: Agent }) {
  if (installing) return <Badge tone="accent">installing</Badge>;
  if (built_in) return <Badge>built in</Badge>;
  if (install) return <Badge>{install.version}</Badge>;
  if (support.level === "unsupported")
    return (
      <Badge tone="bad" {...(support.reason !== undefined && { title: support.reason })}>
        not supported
      </Badge>
    );
  return (
    <span className="text-2xs text-ink-faint">
      not installed{megabytes !== null && `, about ${megabytes} MB`}
    </span>
  );
}

function lacksCredentials({ install, built_in, credentials: { found, missing } }: Agent): boolean {
  return install !== null && !built_in && found.length === 0 && missing.length > 0;
}

function rankOf({ install, running, support }: Agent): number {
  if (running > 0) return 0;
  if (install) return 1;
  return support.level === "unsupported" ? 3 : 2;
}

const TONES: Readonly<Record<string, Tone>> = {
  not_needed: "neutral",
  unverified: "warn",
  verified: "good",
  outdated: "warn",
};

/** Whether probes showed that an agent asks before it acts. */
export function VerificationBadge({ verification }: { verification: Agent["verification"] }) {
  const { state, live, why, faults } = verification;
  if (state === "verified" && live === false)
    return (
      <Badge tone="bad" title={faults?.join("; ") ?? ""}>
        gate not live
      </Badge>
    );
  if (state === "not_needed") return null;
  return (
    <Badge tone={TONES[state] ?? "neutral"} {...(why !== undefined && { title: why })}>
      {state}
    </Badge>
  );
}

const EVERY_MS = 10_000;
/** The query key of everything about agents. */
export const AGENTS = ["agents"] as const;

/** Every agent of the catalogue, polled. */
export function useAgents(): UseQueryResult<readonly Agent[]> {
  return useQuery({
    queryKey: [...AGENTS, "all"],
    queryFn: async ({ signal }) => (await call(agentsOperations.listAgents, { signal })).agents,
    refetchInterval: EVERY_MS,
  });
}

/** The details of one agent, polled. */
export function useAgent(agent: string): UseQueryResult<AgentDetail> {
  return useGet([...AGENTS, "one", agent], agentsOperations.getAgent, {
    params: { agent },
    everyMs: EVERY_MS,
  });
}
