import type { RunGraph } from "@reins/api";
import type { ReactNode } from "react";
import { Badge, StatusBadge } from "../../../design/badge.tsx";
import { Code } from "../../../design/code.tsx";
import { visibleLine } from "../../../design/format.ts";
import { Facts, Panel } from "../../../design/layout.tsx";
import { EntryLink, Markdown, SessionLink, TextLink } from "../../../design/markdown.tsx";
import { Moment } from "../../../design/moment.tsx";
import { ProgressBar } from "../../../design/states.tsx";
import { ActionLink, ApprovalLink, LongText, longTexts, TITLE_LENGTH } from "./action-detail.tsx";
import { progressText, timeTaken } from "./actions.ts";

/** The state of a run: what the model says about it, its status and why, what it waits for, and how far it is. */
export function RunHead({ graph }: { graph: RunGraph }) {
  const { progress } = graph;
  return (
    <Panel className="min-w-0">
      {graph.note !== undefined && (
        <section className="border-b border-line px-3 py-2">
          <h2 className="pb-1 text-2xs font-medium text-ink-faint">The agent says</h2>
          <div
            // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
            tabIndex={0}
            className="max-h-64 overflow-auto border-l-2 border-line-strong pl-3"
          >
            <Markdown text={graph.note} />
          </div>
        </section>
      )}
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5 px-3 py-2 text-sm">
        <span role="status">
          <StatusBadge status={graph.status} />
        </span>
        {graph.plan && (
          <Badge tone="note" title="The declaration is shown; nothing of it runs.">
            plan only
          </Badge>
        )}
        {graph.durable && (
          <Badge title="Continues where it was after a restart of the server.">durable</Badge>
        )}
        <WaitsFor graph={graph} />
        {progress.total > 0 && (
          <span className="flex min-w-48 flex-1 items-center gap-2 text-2xs text-ink-faint">
            <ProgressBar label="Progress of the run" part={progress.ended / progress.total} />
            <span className="whitespace-nowrap">{progressText(graph)}</span>
          </span>
        )}
      </div>
      <div className="border-t border-line">
        <RunFacts graph={graph} />
      </div>
    </Panel>
  );
}

function RunFacts({ graph }: { graph: RunGraph }) {
  const { title, status_reason, result_summary, violations, controls } = graph;
  return (
    <Facts
      facts={{
        ...longTexts({
          Title: title.length > TITLE_LENGTH ? title : undefined,
          Because: status_reason,
          Result: result_summary,
        }),
        Session: <SessionLink id={graph.session_id} length={16} />,
        Started: (
          <>
            <Moment at={graph.started_at} />
            {graph.ended_at !== undefined && `, took ${timeTaken(graph, 0)}`}
          </>
        ),
        "Beside the protocol": violations.length > 0 && <LongText text={violations.join("\n")} />,
        Changed: controls.length > 0 && <Changes controls={controls} />,
      }}
    />
  );
}

const CHANGED = { cancel: "canceled", decide: "decided", revise: "revised" } as const;

/** Who changed a run, what they said with it, and a revision as it was written. */
function Changes({ controls }: { controls: RunGraph["controls"] }) {
  return (
    <ol className="flex min-w-0 flex-col gap-1.5">
      {controls.map(({ kind, at, by, through, actions, decision, note, declaration, entry }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are only added to
        <li key={index} className="min-w-0">
          <span>
            <Moment at={at} />{" "}
            {visibleLine(
              [by, CHANGED[kind], decision, actions?.join(", ") ?? "the run"]
                .filter((word) => word !== undefined)
                .join(" "),
            )}
            {through === "model" && ", as the model declared"}
            {entry !== undefined && (
              <>
                {" · "}
                <EntryLink cid={entry}>in the ledger</EntryLink>
              </>
            )}
          </span>
          {note !== undefined && (
            <div className="border-l-2 border-line-strong pl-2">
              <LongText text={note} />
            </div>
          )}
          {declaration !== undefined && (
            <details>
              <summary className="cursor-pointer text-2xs text-ink-soft">as it was written</summary>
              <Code text={declaration} className="max-h-72" />
            </details>
          )}
        </li>
      ))}
    </ol>
  );
}

/** What a run waits for, also while other actions of it go on, and where it can be given. */
function WaitsFor({ graph }: { graph: RunGraph }): ReactNode {
  const { run_id, session_id, waits_for, actions } = graph;
  const asks = actions.some(({ approval, status }) => approval !== undefined && status === "waiting");
  if (waits_for === undefined && !asks) return null;
  if (waits_for === "input")
    return (
      <span>
        Waits for an answer in{" "}
        <TextLink to="/sessions/$id" params={{ id: session_id }}>
          its conversation
        </TextLink>
      </span>
    );
  if (waits_for === "model") {
    const stopped = actions.filter(({ status }) => status === "failed" || status === "blocked");
    return (
      <Named
        text="Waits for a decision of the model, or yours, about"
        links={stopped.map(({ id, title }) => (
          <ActionLink key={id} run={run_id} id={id}>
            {visibleLine(title)}
          </ActionLink>
        ))}
        otherwise="how to continue"
      />
    );
  }
  return (
    <Named
      text="Waits for approval of"
      links={actions.flatMap(({ approval, status, title }) =>
        approval !== undefined && status === "waiting"
          ? [
              <ApprovalLink key={approval} id={approval}>
                {visibleLine(title)}
              </ApprovalLink>,
            ]
          : [],
      )}
      otherwise={<TextLink to="/approvals">an action</TextLink>}
    />
  );
}

const MOST_NAMED = 3;

/** A sentence that ends with some links; the rest is counted. */
function Named({
  text,
  links,
  otherwise,
}: {
  text: string;
  links: readonly ReactNode[];
  otherwise: ReactNode;
}) {
  const more = links.length - MOST_NAMED;
  return (
    <span className="flex min-w-0 flex-wrap items-baseline gap-x-2">
      {text}
      {links.length === 0 ? otherwise : links.slice(0, MOST_NAMED)}
      {more > 0 && `and ${more} more`}
    </span>
  );
}
