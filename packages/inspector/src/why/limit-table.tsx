import type { ExplainedLimit } from "@reins/api";
import type { z } from "zod";
import { count, dollars, duration } from "../design/number.ts";
import { Cell, Table } from "../design/table.tsx";
import { VerdictBadge } from "../design/verdict.tsx";

type Limit = z.infer<typeof ExplainedLimit>;

/** Budgets, and how much of each is used. */
export function LimitTable({ limits }: { limits: readonly Limit[] }) {
  return (
    <Table
      label="Budgets"
      columns={[{ title: "Budget" }, { title: "Of" }, { title: "Used" }, { title: "Beyond it" }]}
    >
      {limits.map((limit) => (
        <tr key={limit.name}>
          <Cell>
            <code className="text-xs">{limit.name}</code>
          </Cell>
          <Cell className="text-ink-soft">
            each {limit.per}
            {limit.within === undefined ? "" : ` within ${limit.within}`}
          </Cell>
          <Cell className="tabular-nums">{usedText(limit)}</Cell>
          <Cell>
            <VerdictBadge verdict={limit.exceeded} />
          </Cell>
        </tr>
      ))}
    </Table>
  );
}

function usedText({ used, calls, tokens, cost, time }: Limit): string {
  const parts = [
    calls !== undefined && `${used ? count(used.calls) : "?"} of ${count(calls)} calls`,
    tokens !== undefined && `${used ? count(used.tokens) : "?"} of ${count(tokens)} tokens`,
    cost !== undefined && `${used ? dollars(used.cost) : "?"} of ${dollars(cost)}`,
    time !== undefined && `${used ? duration(used.time_ms) : "?"} of ${time}`,
  ];
  return parts.filter((part) => part !== false).join(", ");
}
