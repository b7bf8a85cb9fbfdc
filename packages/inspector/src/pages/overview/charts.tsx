import type { Overview } from "@reins/api";
import { Chart } from "../../design/chart.tsx";
import { about, bytes, duration } from "../../design/number.ts";
import { Panel } from "../../design/panel.tsx";

/** The last hour as pictures. */
export function Charts({ overview: { history } }: { overview: Overview }) {
  const { at } = history;
  const every = `in each ${duration(history.step_ms)}`;
  return (
    <div className="grid min-w-0 gap-3 lg:grid-cols-2 2xl:grid-cols-4">
      <Panel title="Decisions" className="min-w-0">
        <Chart
          label={`Decisions ${every}`}
          at={at}
          format={about}
          lines={[
            { label: "all", tone: "accent", values: history.decisions },
            { label: "asked", tone: "warn", values: history.asked },
            { label: "blocked", tone: "bad", values: history.blocked },
          ]}
        />
      </Panel>
      <Panel title="Time to a verdict" className="min-w-0">
        <Chart
          label="Time to a verdict"
          at={at}
          format={duration}
          lines={[
            { label: "p50", tone: "accent", values: history.latency_p50_ms },
            { label: "p99", tone: "note", values: history.latency_p99_ms },
          ]}
        />
      </Panel>
      <Panel title="Traffic" className="min-w-0">
        <Chart
          label={`What was written and asked ${every}`}
          at={at}
          format={about}
          lines={[
            { label: "ledger", tone: "accent", values: history.ledger_entries },
            { label: "events", tone: "good", values: history.log_events },
            { label: "requests", tone: "neutral", values: history.requests },
          ]}
        />
      </Panel>
      <Panel title="Memory of Reins" className="min-w-0">
        <Chart
          label="Memory of Reins itself"
          at={at}
          format={bytes}
          lines={[{ label: "resident", tone: "accent", values: history.rss_bytes }]}
        />
      </Panel>
    </div>
  );
}
