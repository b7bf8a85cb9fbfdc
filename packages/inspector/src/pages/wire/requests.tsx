import { type LoggedRequest, wireOperations } from "@reins/api";
import { useMemo } from "react";
import { call } from "../../api/call.ts";
import { Badge, type Tone } from "../../design/badge.tsx";
import { Moment } from "../../design/moment.tsx";
import { duration } from "../../design/number.ts";
import { Panel } from "../../design/panel.tsx";
import { Empty, Failure, Waiting } from "../../design/states.tsx";
import { Cell, Table } from "../../design/table.tsx";
import { visible } from "../../design/visible.ts";
import { CopyButton } from "./copy-button.tsx";
import { curlFor } from "./curl.ts";
import { keyOf } from "./tail.ts";
import { type TailSource, useTail } from "./use-tail.ts";

const SHOWN = 300;

/** The requests to the API, the newest first, as they are answered. */
export function Requests() {
  const source = useMemo(
    (): TailSource<LoggedRequest, typeof wireOperations.streamRequests.query> => ({
      stream: wireOperations.streamRequests,
      query: {},
      list: async (signal) =>
        (await call(wireOperations.listRequests, { query: { limit: SHOWN }, signal })).requests,
    }),
    [],
  );
  const { all, error, isLoaded } = useTail(source, false);
  if (error) return <Failure error={error} />;
  if (!isLoaded) return <Waiting what="Listening" />;
  if (all.length === 0) return <Empty title="No request yet">Every request to the API shows here.</Empty>;
  return (
    <Panel className="mt-2">
      <Table
        label="Requests"
        columns={[
          { title: "When" },
          { title: "Request" },
          { title: "Status", isNumber: true },
          { title: "Took", isNumber: true },
          { title: "By" },
          { title: "Again", isHidden: true },
        ]}
      >
        {all
          .slice(-SHOWN)
          .toReversed()
          .map((request) => (
            <tr key={keyOf(request)}>
              <Cell>
                <Moment at={request.at} />
              </Cell>
              <Cell isExact className="break-all">
                {request.method} {visible(request.path)}
              </Cell>
              <Cell isNumber>
                <Badge tone={toneOf(request.status)}>{request.status}</Badge>
              </Cell>
              <Cell isNumber>{duration(request.ms)}</Cell>
              <Cell>{request.principal ?? "–"}</Cell>
              <Cell>
                <CopyButton label="Copy as curl" text={() => curlFor(request, window.location.origin)} />
              </Cell>
            </tr>
          ))}
      </Table>
    </Panel>
  );
}

function toneOf(status: number): Tone {
  if (status >= 500) return "bad";
  return status >= 400 ? "warn" : "good";
}
