import { metricsOperations, type Overview } from "@reins/api";
import { ApiError } from "@reins/sdk";
import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/queries.ts";
import { useSelf } from "../../app/sign-in.tsx";
import { Badge, type Tone } from "../../design/badge.tsx";
import { count, visible } from "../../design/format.ts";
import { Panel } from "../../design/layout.tsx";
import { SessionLink } from "../../design/markdown.tsx";
import { Moment } from "../../design/moment.tsx";

type Reporter = Overview["agent_reports"][number];

const KINDS = ["error", "success", "heartbeat"] as const;
const TONES: Readonly<Record<(typeof KINDS)[number], Tone>> = {
  error: "bad",
  success: "good",
  heartbeat: "neutral",
};

/** The overview of this server, polled. Only operators may read it; for others the query is disabled. */
export function useOverview() {
  const { is_admin } = useSelf();
  return useQuery({
    queryKey: ["overview"],
    queryFn: ({ signal }) => call(metricsOperations.getOverview, { signal }),
    refetchInterval: ({ state }) => (state.error instanceof ApiError ? false : 5_000),
    enabled: is_admin,
  });
}

/** The last heartbeat, success and error of each agent, of all sessions or of one. Empty for users without access. */
export function AgentReports({ session }: { session?: string }) {
  const reporters = reportersOf(useOverview().data?.agent_reports ?? [], session);
  if (reporters.length === 0) return null;
  return (
    <Panel title="Agent reports" className="min-w-0">
      <ReporterList reporters={reporters} hasSessions={session === undefined} />
    </Panel>
  );
}

/** The reports of a session as one line above its conversation, which opens. */
export function SessionReports({ session }: { session: string }) {
  const reporters = reportersOf(useOverview().data?.agent_reports ?? [], session);
  const [first] = reporters.flatMap(reportLines);
  if (!first) return null;
  return (
    <details className="border-b border-line bg-surface px-4 py-1.5 text-sm">
      <summary className="cursor-pointer">
        Agent reports <Badge tone={TONES[first.kind]}>{first.kind}</Badge>{" "}
        <span className="text-2xs text-ink-faint">
          <Moment at={first.at} />
        </span>
      </summary>
      <ReporterList reporters={reporters} hasSessions={false} />
    </details>
  );
}

function ReporterList({ reporters, hasSessions }: { reporters: readonly Reporter[]; hasSessions: boolean }) {
  return (
    <ul className="divide-y divide-line">
      {reporters.map((reporter) => (
        <li
          key={JSON.stringify([reporter.tenant, reporter.user, reporter.agent, reporter.session])}
          className="flex flex-col gap-1 px-3 py-2 text-sm"
        >
          <span className="flex flex-wrap items-baseline gap-x-2">
            <span className="font-medium">{visible(reporter.agent)}</span>
            <span className="text-2xs text-ink-faint">for {visible(reporter.user)}</span>
            {hasSessions && (
              <span className="ml-auto">
                <SessionLink id={reporter.session} />
              </span>
            )}
          </span>
          {reportLines(reporter).map(({ kind, at, times, text }) => (
            <span key={kind} className="flex flex-wrap items-baseline gap-x-2 text-2xs text-ink-faint">
              <Badge tone={TONES[kind]}>{kind}</Badge>
              <Moment at={at} />
              <span>{times}</span>
              {text !== "" && (
                <code className={`min-w-0 break-all ${kind === "error" ? "text-bad" : "text-ink-soft"}`}>
                  {visible(text)}
                </code>
              )}
            </span>
          ))}
        </li>
      ))}
    </ul>
  );
}

/** The agents that reported, those with the newest error first; of one session if one is given. */
export function reportersOf(reports: readonly Reporter[], session: string | undefined): readonly Reporter[] {
  const failedAt = ({ error, success }: Reporter) =>
    error && (!success || success.at < error.at) ? error.at : "";
  return reports
    .filter((reporter) => session === undefined || reporter.session === session)
    .toSorted((one, other) => failedAt(other).localeCompare(failedAt(one)));
}

/** One line for each kind of report of an agent: error, success, heartbeat. An empty payload has no text. */
export function reportLines(reporter: Reporter) {
  return KINDS.flatMap((kind) => {
    const report = reporter[kind];
    if (!report) return [];
    const text = /^(?:null|\{\}|)$/.test(report.payload) ? "" : report.payload;
    const times = report.count === 1 ? "once" : `${count(report.count)} times`;
    return [{ kind, at: report.at, times, text }];
  });
}
