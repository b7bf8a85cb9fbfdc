import { type LoggedRequest, wireOperations } from "@reins/api";
import { useMemo, useState } from "react";
import { call } from "../../api/call.ts";
import { itemKey, Tailed, type TailSource, useTail } from "../../api/tail.tsx";
import { useSelf } from "../../app/sign-in.tsx";
import { Badge, type Tone } from "../../design/badge.tsx";
import { CopyButton } from "../../design/button.tsx";
import { duration } from "../../design/format.ts";
import { Page, Panel, Tabs } from "../../design/layout.tsx";
import { Moment } from "../../design/moment.tsx";
import { Empty } from "../../design/states.tsx";
import { Table } from "../../design/table.tsx";
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
  return (
    <Tailed
      tail={useTail(source, false)}
      what="Subscribing"
      empty={<Empty title="No requests yet">API requests are listed here.</Empty>}
    >
      {(all) => (
        <Panel className="mt-2">
          <Table
            label="Requests"
            rows={all.slice(-SHOWN).toReversed()}
            keyOf={itemKey}
            columns={[
              { title: "When", cell: ({ at }) => <Moment at={at} /> },
              {
                title: "Request",
                isExact: true,
                className: "break-all",
                cell: ({ method, path }) => `${method} ${visible(path)}`,
              },
              {
                title: "Status",
                isNumber: true,
                cell: ({ status }) => <Badge tone={toneOf(status)}>{status}</Badge>,
              },
              { title: "Took", isNumber: true, cell: ({ ms }) => duration(ms) },
              { title: "By", cell: ({ principal }) => principal ?? "–" },
              {
                title: "Again",
                isHidden: true,
                cell: (request) => (
                  <CopyButton label="Copy as curl" text={() => curlFor(request, window.location.origin)} />
                ),
              },
            ]}
          />
        </Panel>
      )}
    </Tailed>
  );
}

/** The colour of a status: server errors are bad, rejections a warning. */
export function toneOf(status: number): Tone {
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
