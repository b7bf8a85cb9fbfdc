import type { Overview } from "@reins/api";
import { count, duration } from "../../design/number.ts";
import { Panel } from "../../design/panel.tsx";
import { Cell, Table } from "../../design/table.tsx";

type Percentiles = Overview["decisions"]["latency_ms"];

/** How long things take, of the last few minutes. */
export function PercentilePanel({ overview }: { overview: Overview }) {
  const { decisions, approvals, requests } = overview;
  return (
    <Panel title="How long it takes" className="min-w-0">
      <Table
        label="Percentiles of the last few minutes"
        columns={[
          { title: "What" },
          { title: "Times", isNumber: true },
          { title: "p50", isNumber: true },
          { title: "p90", isNumber: true },
          { title: "p99", isNumber: true },
          { title: "Longest", isNumber: true },
        ]}
      >
        <Row name="A verdict" title="from the question to the durable verdict" of={decisions.latency_ms} />
        <Row name="A person's answer" title="how long approvals waited" of={approvals.wait_ms} />
        <Row name="A request" title="to this API" of={requests.latency_ms} />
      </Table>
    </Panel>
  );
}

function Row({ name, title, of }: { name: string; title: string; of: Percentiles }) {
  const shown = (value: number) => (of.count === 0 ? "–" : duration(value));
  return (
    <tr>
      <Cell>
        <span title={title}>{name}</span>
      </Cell>
      <Cell isNumber>{count(of.count)}</Cell>
      <Cell isNumber>{shown(of.p50)}</Cell>
      <Cell isNumber>{shown(of.p90)}</Cell>
      <Cell isNumber>{shown(of.p99)}</Cell>
      <Cell isNumber>{shown(of.max)}</Cell>
    </tr>
  );
}
