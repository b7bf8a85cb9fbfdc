import { type LoggedRequest, wireOperations } from "@reins/api";
import { useMemo, useState } from "react";
import { call } from "../../api/call.ts";
import { itemKey, type TailSource, useTail } from "../../api/tail.ts";
import { useSelf } from "../../app/sign-in.tsx";
import { Badge, type Tone } from "../../design/badge.tsx";
import { CopyButton } from "../../design/button.tsx";
import { duration } from "../../design/format.ts";
import { Page, Panel, Tabs } from "../../design/layout.tsx";
import { Moment } from "../../design/moment.tsx";
import { Empty, Failure, Waiting } from "../../design/states.tsx";
import { Cell, Table } from "../../design/table.tsx";
import { visible } from "../../design/visible.ts";
import { Envelopes } from "./envelopes.tsx";

/** Raw messages and API requests, for admins. */
export function WirePage() {
  const { is_admin } = useSelf();
  const [tab, setTab] = useState("messages");
  return (
    <Page title="Wire" about="Raw messages between clients, Reins and agents, without secrets.">
      {is_admin ? (
        <Tabs
          value={tab}
          onChange={setTab}
          tabs={[
            { value: "messages", label: "Messages", content: <Envelopes /> },
            { value: "requests", label: "Requests", content: <Requests /> },
          ]}
        />
      ) : (
        <Empty title="Only admins may see messages">Messages include those of other users.</Empty>
      )}
    </Page>
  );
}

const SHOWN = 300;

/** API requests, newest first, as they are answered. */
function Requests() {
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
  if (!isLoaded) return <Waiting what="Subscribing" />;
  if (all.length === 0) return <Empty title="No requests yet">API requests are listed here.</Empty>;
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
            <tr key={itemKey(request)}>
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

/** Formats a request as a curl command. Body and query are not recorded and therefore missing. */
export function curlFor({ method, path }: Pick<LoggedRequest, "method" | "path">, origin: string): string {
  const words = [
    "curl",
    ...(method === "GET" ? [] : ["-X", method]),
    "-H",
    '"Authorization: Bearer $REINS_TOKEN"',
    ...(method === "GET" || method === "DELETE"
      ? []
      : ["-H", quoted("Content-Type: application/json"), "-d", quoted("{}")]),
    quoted(origin + path),
  ];
  return words.join(" ");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
