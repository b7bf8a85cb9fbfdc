import { type Approval, approvalOperations } from "@reins/api";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { useGet } from "../../api/queries.ts";
import {
  notificationsEnabled,
  setNotifications,
  usePendingApprovals,
  useWithheldApprovals,
} from "../../app/approvals.ts";
import { placeAfter, useKeys } from "../../app/keys.ts";
import { Badge, type Tone } from "../../design/badge.tsx";
import { Button } from "../../design/button.tsx";
import { visible, visibleLine } from "../../design/format.ts";
import { classNames, Page, Panel, Tabs } from "../../design/layout.tsx";
import { SessionLink } from "../../design/markdown.tsx";
import { formatAge, Moment, useNow } from "../../design/moment.tsx";
import { Empty, Loaded } from "../../design/states.tsx";
import { Table } from "../../design/table.tsx";
import { effectText } from "./action-text.ts";
import { AnswerBar, LateNotice } from "./answer-bar.tsx";
import { ApprovalFacts, ApprovalState, ApprovalWhat, GivenAnswer, useApproval } from "./approval-detail.tsx";
import { GrantList } from "./grant-list.tsx";

/** Approvals of all sessions: pending, answered, and grants. */
export function ApprovalsPage() {
  const [tab, setTab] = useState("waiting");
  const [isNotifying, setNotifying] = useState(notificationsEnabled);
  const count = usePendingApprovals().data?.length ?? 0;
  const answered = useAnswered();
  return (
    <Page
      title="Approvals"
      about="Actions that wait for your decision."
      actions={
        <Button
          aria-pressed={isNotifying}
          onClick={() => void setNotifications(!isNotifying).then(setNotifying)}
          title="Shows a browser notification for each new approval"
        >
          Notifications: {isNotifying ? "on" : "off"}
        </Button>
      }
    >
      <LateNotice />
      {answered !== undefined && <AnsweredOne key={answered} id={answered} />}
      <Tabs
        value={tab}
        onChange={setTab}
        tabs={[
          {
            value: "waiting",
            label: `Pending (${count})`,
            content: (
              <>
                <Inbox />
                <WaitingForOthers />
              </>
            ),
          },
          {
            value: "answered",
            label: "Answered",
            content: (
              <Panel className="mt-2">
                <AnsweredList />
              </Panel>
            ),
          },
          {
            value: "always",
            label: "Always allowed",
            content: (
              <Panel className="mt-2">
                <GrantList />
              </Panel>
            ),
          },
        ]}
      />
    </Page>
  );
}

/** The approval that the address names, if it is no longer pending. */
function useAnswered(): string | undefined {
  const { data } = usePendingApprovals();
  const { approval: wanted } = useSearch({ from: "/approvals" });
  const waited = useRef(new Set<string>());
  useEffect(() => {
    for (const { id } of data ?? []) waited.current.add(id);
  }, [data]);
  return data && isAnswered(wanted, data, waited.current) ? wanted : undefined;
}

/** Whether an approval is answered: it is not pending, and was not when this page first saw it. */
export function isAnswered(
  wanted: string | undefined,
  pending: readonly Pick<Approval, "id">[],
  seen: ReadonlySet<string>,
): boolean {
  return wanted !== undefined && !seen.has(wanted) && !pending.some(({ id }) => id === wanted);
}

/** The number of approvals that only others may answer. */
function WaitingForOthers() {
  const { data } = useWithheldApprovals();
  if (!data || data.length === 0) return null;
  return (
    <section aria-label="Pending for others" className="pt-4">
      <h2 className="pb-1 text-sm font-medium">Pending for others</h2>
      <ul className="flex flex-col gap-1 text-sm text-ink-faint">
        {data.map(({ id, agent, created_at }) => (
          <li key={id} data-withheld={id}>
            {visible(agent)} · asked <Moment at={created_at} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The pending approvals. `j` and `k` move, the keys of the selected one answer it. */
function Inbox() {
  const query = usePendingApprovals();
  const navigate = useNavigate();
  const { approval: wanted } = useSearch({ from: "/approvals" });
  const approvals = query.data ?? [];
  const place = Math.max(
    0,
    approvals.findIndex(({ id }) => id === wanted),
  );
  const choose = (approval: string) =>
    void navigate({ to: "/approvals", search: { approval }, replace: true });
  useKeys(({ key }) => {
    const next = approvals[placeAfter(key, place, approvals.length)];
    if (next && next !== approvals[place]) choose(next.id);
  });
  return (
    <Loaded query={query} what="Loading pending approvals">
      {(pending) =>
        pending.length === 0 ? (
          <Empty title="No pending approvals">
            When a rule of the constitution says <i>ask</i>, the action waits here for a decision. In the
            demo, try “run `make`”.
          </Empty>
        ) : (
          <>
            <p className="hidden py-2 text-2xs text-ink-faint md:block">
              <kbd>j</kbd> <kbd>k</kbd> select · <kbd>a</kbd> allow once · <kbd>s</kbd> always · <kbd>d</kbd>{" "}
              deny
            </p>
            <ul className="flex flex-col gap-2 max-md:pt-2">
              {pending.map((approval, index) => (
                <ApprovalCard
                  key={approval.id}
                  approval={approval}
                  isChosen={index === place}
                  onChoose={() => choose(approval.id)}
                />
              ))}
            </ul>
          </>
        )
      }
    </Loaded>
  );
}

/** A pending approval; details are shown while it is selected. */
function ApprovalCard({
  approval,
  isChosen,
  onChoose,
}: {
  approval: Approval;
  isChosen: boolean;
  onChoose: () => void;
}) {
  const place = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isChosen) place.current?.scrollIntoView({ block: "nearest" });
  }, [isChosen]);
  const [first] = approval.facts.effects;
  return (
    <li ref={place} className="rounded border border-line bg-surface" data-approval={approval.id}>
      <button
        type="button"
        aria-expanded={isChosen}
        onClick={onChoose}
        className={classNames(
          "flex w-full cursor-pointer flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2 text-left hover:bg-sunken",
          isChosen && "border-b border-line",
        )}
      >
        <span className="font-medium">{visibleLine(approval.agent)}</span>
        <span className="min-w-0 flex-1 basis-40 truncate font-mono text-xs whitespace-pre">
          {first && !isChosen ? effectText(first) : visibleLine(approval.tool)}
        </span>
        <TimeLeft until={approval.expires_at} />
      </button>
      {isChosen && (
        <div className="flex flex-col gap-3 px-3 py-2.5">
          <div className="flex flex-col gap-2">
            <ApprovalWhat approval={approval} />
            <ApprovalFacts approval={approval} />
          </div>
          <AnswerBar key={approval.id} approval={approval} hasKeys />
        </div>
      )}
    </li>
  );
}

function TimeLeft({ until }: { until: string }) {
  const { text, tone } = timeLeft(until, useNow(1_000));
  return (
    <Badge tone={tone} title={`until ${new Date(until).toLocaleString()}`}>
      {text}
    </Badge>
  );
}

/** The time left until an approval expires; the last minute is urgent. */
export function timeLeft(until: string, now: number): { readonly text: string; readonly tone: Tone } {
  const left = new Date(until).getTime() - now;
  return { text: left > 0 ? `${formatAge(left)} left` : "expired", tone: left < 60_000 ? "bad" : "neutral" };
}

/** The latest answered approvals. */
export function AnsweredList() {
  const query = useGet(["approvals", "answered"], approvalOperations.listApprovals, {
    query: { order: "newest", limit: 100 },
  });
  return (
    <Loaded query={query} what="Loading answers">
      {({ approvals }) => (
        <Table
          label="Answered approvals"
          rows={approvals.flatMap((approval) =>
            "withheld" in approval || approval.state === "pending" ? [] : [approval],
          )}
          keyOf={({ id }) => id}
          empty={
            <Empty title="No answers yet">Answered approvals are listed here with user and reason.</Empty>
          }
          columns={[
            { title: "Asked", cell: ({ created_at }) => <Moment at={created_at} /> },
            { title: "Agent", cell: ({ agent }) => visibleLine(agent) },
            {
              title: "What",
              isExact: true,
              className: "max-w-96 whitespace-pre-wrap break-all",
              cell: ({ facts: { effects, tool } }) =>
                effects[0] ? effectText(effects[0]) : visibleLine(tool),
            },
            { title: "State", cell: ({ state }) => <ApprovalState state={state} /> },
            {
              title: "Answer",
              className: "max-w-72 break-words",
              cell: ({ answers }) => {
                const last = answers.at(-1);
                return last && <GivenAnswer answer={last} />;
              },
            },
            { title: "Session", cell: ({ session }) => <SessionLink id={session} /> },
          ]}
        />
      )}
    </Loaded>
  );
}

/** One answered approval. */
export function AnsweredOne({ id }: { id: string }) {
  return (
    <Loaded query={useApproval(id, true)} what="Loading the approval">
      {(approval) =>
        "withheld" in approval ? (
          <Empty title="Not visible to you">Only its user and approvers may see it.</Empty>
        ) : (
          <Panel title="Request and answer" actions={<ApprovalState state={approval.state} />}>
            <div className="flex flex-col gap-2 px-3 py-2">
              <ApprovalWhat approval={approval} />
              <ul className="text-sm">
                {approval.answers.map((answer) => (
                  <li key={`${answer.by} ${answer.decision}`}>
                    <GivenAnswer answer={answer} />
                  </li>
                ))}
              </ul>
              <ApprovalFacts approval={approval} />
            </div>
          </Panel>
        )
      }
    </Loaded>
  );
}
