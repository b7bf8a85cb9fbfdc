import { boardOperations, mailboxOperations } from "@reins/api";
import { ApiError } from "@reins/sdk";
import { type ReactNode, useState } from "react";
import { call, useChange, useGet } from "../../api/queries.ts";
import { useSelf } from "../../app/sign-in.tsx";
import { Button } from "../../design/button.tsx";
import { Code } from "../../design/code.tsx";
import { Form, TextInput } from "../../design/form.tsx";
import { visible } from "../../design/format.ts";
import { Page, Panel } from "../../design/layout.tsx";
import { TextLink } from "../../design/markdown.tsx";
import { Moment } from "../../design/moment.tsx";
import { Empty, Failure, Loaded, Waiting } from "../../design/states.tsx";
import { AgentReports, useOverview } from "../runs/agent-reports.tsx";
import { RunsPanel } from "../runs/runs-panel.tsx";
import { Charts, Figures, PercentilePanel, VerdictMix } from "./figures.tsx";

const MAIL = ["mail"] as const;
const BOARD = ["board"] as const;

/** The latest mail between agents and users. */
export function MailPanel() {
  const query = useGet(MAIL, mailboxOperations.listMail, { query: { limit: 12 }, everyMs: 10_000 });
  return (
    <Panel title="Mail" className="min-w-0">
      <Loaded query={query} what="Loading mail">
        {({ messages }) =>
          messages.length === 0 ? (
            <Empty title="No mail yet">Mail between agents. An agent receives it with its next turn.</Empty>
          ) : (
            <ul className="divide-y divide-line">
              {messages.toReversed().map(({ id, from, to, subject, body, timestamp }) => (
                <li key={id} className="flex flex-col px-3 py-2 text-sm">
                  <span className="truncate">{visible(subject || body)}</span>
                  <span className="truncate text-2xs text-ink-faint">
                    {visible(from)} to {visible(to.join(", "))}, <Moment at={timestamp} />
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      <MailForm />
    </Panel>
  );
}

function MailForm() {
  const [to, setTo] = useState("");
  const [body, setBody] = useState("");
  const send = useChange(
    MAIL,
    () => call(mailboxOperations.sendMail, { body: { to: to.trim(), body } }),
    () => setBody(""),
  );
  return (
    <LineForm
      label="Write to an agent"
      action={send.isPending ? "Sending …" : "Send"}
      isReady={!send.isPending && to.trim() !== "" && body.trim() !== ""}
      error={send.error}
      onSubmit={() => send.mutate()}
    >
      <TextInput aria-label="To" placeholder="to" className="max-w-24" required value={to} onChange={setTo} />
      <TextInput
        aria-label="Message"
        placeholder="delivered with its next turn"
        required
        value={body}
        onChange={setBody}
      />
    </LineForm>
  );
}

/** The latest posts of the board. */
export function BoardPanel() {
  const query = useGet(BOARD, boardOperations.showBoard, { query: { lines: 30 }, everyMs: 10_000 });
  return (
    <Panel title="Board" className="min-w-0">
      <Loaded query={query} what="Loading the board">
        {({ lines }) =>
          lines.length === 0 ? (
            <Empty title="The board is empty">Posts are visible to all agents and users.</Empty>
          ) : (
            <Code text={lines.join("\n")} className="max-h-80 rounded-none bg-transparent" />
          )
        }
      </Loaded>
      <PostForm />
    </Panel>
  );
}

function PostForm() {
  const [content, setContent] = useState("");
  const post = useChange(
    BOARD,
    () => call(boardOperations.postBoard, { body: { content: content.trim() } }),
    () => setContent(""),
  );
  return (
    <LineForm
      label="Post to the board"
      action={post.isPending ? "Posting …" : "Post"}
      isReady={!post.isPending && content.trim() !== ""}
      error={post.error}
      onSubmit={() => post.mutate()}
    >
      <TextInput
        aria-label="Board message"
        placeholder="message to all"
        required
        value={content}
        onChange={setContent}
      />
    </LineForm>
  );
}

/** A form of one line below a list. */
function LineForm({
  label,
  action,
  isReady,
  error,
  onSubmit,
  children,
}: {
  label: string;
  action: string;
  isReady: boolean;
  error: unknown;
  onSubmit: () => void;
  children: ReactNode;
}) {
  return (
    <Form
      aria-label={label}
      className="flex flex-col gap-2 border-t border-line px-3 py-2"
      onSubmit={onSubmit}
    >
      <div className="flex gap-2">
        {children}
        <Button type="submit" disabled={!isReady}>
          {action}
        </Button>
      </div>
      <Failure error={error} />
    </Form>
  );
}

/** The state of the server at a glance. */
export function OverviewPage() {
  const { is_admin } = useSelf();
  const { data, error, refetch } = useOverview();
  // The server rejects admins of tenants other than the operator's.
  const isOthers = !is_admin || (error instanceof ApiError && error.status === 403);
  return (
    <Page
      title="Overview"
      about={
        data && (
          <>
            Reins {data.version}, started <Moment at={data.started_at} />
          </>
        )
      }
    >
      {error && !isOthers && <Failure error={error} onRetry={() => void refetch()} />}
      {!data && !error && !isOthers && <Waiting what="Loading the overview" />}
      {data && (
        <>
          {data.decisions.total === 0 && <FirstSteps />}
          <Figures overview={data} />
          {data.decisions.total > 0 && (
            <>
              <div className="grid min-w-0 gap-3 xl:grid-cols-2">
                <VerdictMix overview={data} />
                <PercentilePanel overview={data} />
              </div>
              <Charts overview={data} />
            </>
          )}
        </>
      )}
      {isOthers && <p className="text-sm text-ink-soft">Server metrics are visible to the operator only.</p>}
      <div className="grid min-w-0 items-start gap-3 xl:grid-cols-3">
        <div className="flex min-w-0 flex-col gap-3">
          <RunsPanel />
          <AgentReports />
        </div>
        <MailPanel />
        <BoardPanel />
      </div>
    </Page>
  );
}

const STEP =
  "flex flex-col gap-1 border-line p-4 max-lg:border-t max-lg:first:border-t-0 lg:border-l lg:first:border-l-0";

/** A short tour for the first visit. */
function FirstSteps() {
  return (
    <Panel title="Three things to try">
      <ol className="grid lg:grid-cols-3">
        <li className={STEP}>
          <p className="font-medium">1. Talk to an agent</p>
          <p className="text-sm text-ink-soft">
            <TextLink to="/sessions" search={{ start: true }}>
              Start a session
            </TextLink>{" "}
            with the native agent. It needs no account and comes with Reins. Or{" "}
            <TextLink to="/agents">install another</TextLink>.
          </p>
        </li>
        <li className={STEP}>
          <p className="font-medium">2. See an action blocked</p>
          <p className="text-sm text-ink-soft">
            Ask it to <code>read .env</code>: the constitution blocks that. Ask it to <code>run `make`</code>:
            it waits for you in <TextLink to="/approvals">approvals</TextLink>.
          </p>
        </li>
        <li className={STEP}>
          <p className="font-medium">3. See the proof</p>
          <p className="text-sm text-ink-soft">
            Open the verdict in the <TextLink to="/ledger">ledger</TextLink>: which rule decided and why, and
            the proof, checked by this page itself.
          </p>
        </li>
      </ol>
    </Panel>
  );
}
