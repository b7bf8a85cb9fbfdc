import { mailboxOperations } from "@reins/api";
import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/call.ts";
import { Moment } from "../../design/moment.tsx";
import { Panel } from "../../design/panel.tsx";
import { Empty, Failure, Waiting } from "../../design/states.tsx";
import { visible } from "../../design/visible.ts";
import { MailForm } from "./mail-form.tsx";

const SHOWN = 12;

/** What agents and people wrote to each other last. */
export function MailPanel() {
  const { data, error } = useQuery({
    queryKey: ["mail"],
    queryFn: ({ signal }) => call(mailboxOperations.listMail, { query: { limit: SHOWN }, signal }),
    refetchInterval: 10_000,
  });
  return (
    <Panel title="Mail" className="min-w-0">
      {error ? (
        <div className="p-3">
          <Failure error={error} />
        </div>
      ) : !data ? (
        <Waiting what="Fetching the mail" />
      ) : data.messages.length === 0 ? (
        <Empty title="No mail yet">Agents write to each other here, and get it with their next turn.</Empty>
      ) : (
        <ul className="divide-y divide-line">
          {data.messages.toReversed().map(({ id, from, to, subject, body, timestamp }) => (
            <li key={id} className="flex flex-col px-3 py-2 text-sm">
              <span className="truncate">{visible(subject || body)}</span>
              <span className="truncate text-2xs text-ink-faint">
                {visible(from)} to {visible(to.join(", "))}, <Moment at={timestamp} />
              </span>
            </li>
          ))}
        </ul>
      )}
      <MailForm />
    </Panel>
  );
}
