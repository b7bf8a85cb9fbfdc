import type { RunAction, RunGraph } from "@reins/api";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef } from "react";
import { StatusBadge } from "../../../design/badge.tsx";
import { Button } from "../../../design/button.tsx";
import { Code, Json } from "../../../design/code.tsx";
import { visible, visibleLine } from "../../../design/format.ts";
import { Icon } from "../../../design/icons.tsx";
import { Facts, Section } from "../../../design/layout.tsx";
import { EntryLink, SessionLink, TextLink } from "../../../design/markdown.tsx";
import { Moment } from "../../../design/moment.tsx";
import { Elapsed, executorText } from "./action-list.tsx";
import { CancelButton, Decide } from "./controls.tsx";
import { StoredText } from "./stored-text.tsx";

/** A longer title is cut in a heading, and shown whole among the facts. */
export const TITLE_LENGTH = 80;

/** Everything about one action. Takes the focus when a user opens it; `Escape` closes it. */
export function ActionDetail({
  graph,
  action,
  takesFocus,
  onClose,
}: {
  graph: RunGraph;
  action: RunAction;
  takesFocus: boolean;
  onClose: () => void;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (takesFocus) heading.current?.focus();
  }, [takesFocus]);
  return (
    <section
      aria-label="Chosen action"
      className="min-w-0 rounded border border-line bg-surface"
      onKeyDown={({ key, defaultPrevented }) => key === "Escape" && !defaultPrevented && onClose()}
    >
      <header className="flex items-start gap-2 border-b border-line px-3 py-2">
        <h2
          ref={heading}
          tabIndex={-1}
          className="line-clamp-3 min-w-0 flex-1 text-sm font-semibold break-words outline-none"
        >
          {visibleLine(action.title)}
        </h2>
        <Button kind="quiet" className="h-6 px-1" aria-label="Close the action" onClick={onClose}>
          <Icon name="close" size={13} />
        </Button>
      </header>
      <ActionFacts graph={graph} action={action} />
      <div className="flex flex-col items-start gap-2 px-3 pb-2.5 empty:hidden">
        <Decide graph={graph} action={action} />
        <CancelButton graph={graph} action={action} />
      </div>
      <ResultLayers run={graph.run_id} action={action} />
      {action.assignment && <Assigned graph={graph} assignment={action.assignment} />}
      {action.prompt !== undefined && (
        <Part title="Prompt">
          <Code text={action.prompt} className="max-h-72" />
        </Part>
      )}
      {action.input !== undefined && (
        <Part title="Input">
          <Json value={action.input} className="max-h-72" />
        </Part>
      )}
    </section>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Section title={title}>
      <div className="flex flex-col gap-2 px-3 pt-1 pb-2.5">{children}</div>
    </Section>
  );
}

function ActionFacts({ graph, action }: { graph: RunGraph; action: RunAction }) {
  const { executor, attempts, iterations } = action;
  return (
    <Facts
      facts={{
        Status: <StatusBadge status={action.status} />,
        ...longTexts({ Because: action.status_reason }),
        "Waits for": action.approval !== undefined && action.status === "waiting" && (
          <ApprovalLink id={action.approval}>an approval</ApprovalLink>
        ),
        ...longTexts({
          Title: action.title.length > TITLE_LENGTH ? action.title : undefined,
          Does: action.description,
          Reason: action.reason,
        }),
        Operation: visibleLine(action.operation ?? ""),
        Executor: executorText(executor),
        Capabilities: visibleLine(executor.capabilities.join(", ")),
        Verdict: action.verdict !== undefined && (
          <EntryLink cid={action.verdict}>in the ledger, with its proof</EntryLink>
        ),
        Approval: action.approval !== undefined && action.status !== "waiting" && (
          <ApprovalLink id={action.approval}>how it was answered</ApprovalLink>
        ),
        "Child session": action.child_session !== undefined && (
          <SessionLink id={action.child_session} length={16} />
        ),
        After: action.depends_on.length > 0 && <Dependencies graph={graph} action={action} />,
        Started: action.started_at !== undefined && <Moment at={action.started_at} />,
        Took: action.started_at !== undefined && <Elapsed action={action} />,
        Attempts: attempts > 1 && attempts,
        Rounds: iterations > 1 && iterations,
        Id: <code className="text-xs">{visibleLine(action.id)}</code>,
      }}
    />
  );
}

function Dependencies({ graph, action }: { graph: RunGraph; action: RunAction }) {
  const byId = new Map(graph.actions.map((one) => [one.id, one]));
  return (
    <ul>
      {action.depends_on.map((id) => (
        <li key={id} className="flex items-baseline gap-1.5">
          <ActionLink run={graph.run_id} id={id}>
            {visibleLine(byId.get(id)?.title ?? id)}
          </ActionLink>
          {byId.has(id) && <span className="text-2xs text-ink-faint">{byId.get(id)?.status}</span>}
        </li>
      ))}
    </ul>
  );
}

/** The result of an action in layers: a summary, then the whole output and other stored texts on demand. */
function ResultLayers({ run, action }: { run: string; action: RunAction }) {
  const { result_summary, details_ref, artifacts = [], attempts, ended_at } = action;
  if (result_summary === undefined && details_ref === undefined && artifacts.length === 0) return null;
  const version = `${attempts} ${ended_at ?? ""}`;
  return (
    <Part title="Result">
      {result_summary !== undefined && <Code text={result_summary} className="max-h-72" />}
      {details_ref !== undefined && (
        <StoredText run={run} reference={details_ref} version={version} label="the full output" />
      )}
      {artifacts.map(({ ref, name }) => (
        <div key={ref} className="flex min-w-0 flex-col gap-1">
          <span className="font-mono text-2xs break-all text-ink-soft">{visibleLine(name ?? ref)}</span>
          <StoredText run={run} reference={ref} version={version} label="this artifact" />
        </div>
      ))}
    </Part>
  );
}

/** The task as an agent or a person was given it: its limits, what came before it, and what was reported. */
function Assigned({
  graph,
  assignment,
}: {
  graph: RunGraph;
  assignment: NonNullable<RunAction["assignment"]>;
}) {
  const { authority, context_refs, expected_outputs, handoffs, withheld, notes, report } = assignment;
  const { tools, reads, writes, budget } = authority;
  const most = Object.entries({ tokens: budget?.tokens, calls: budget?.calls });
  return (
    <Section title="Assignment">
      <Facts
        facts={longTexts({
          For: authority.principal,
          "May use": tools?.join(", "),
          Reads: reads?.join(", "),
          "May write": writes && (writes.join(", ") || "nothing"),
          "At most": most
            .flatMap(([what, count]) => (count === undefined ? [] : `${count} ${what}`))
            .join(", "),
          Context: context_refs.join(", "),
          Expected: expected_outputs.join(", "),
          Withheld: withheld.join(", "),
          Notes: notes.join("\n"),
          ...(report && {
            Reported: report.result_summary,
            Evidence: report.evidence.join("\n"),
            Artifacts: assignment.artifacts.join("\n"),
            Risks: report.risks.join("\n"),
            "Unresolved issues": report.unresolved_issues.join("\n"),
            "Not as asked": report.faults.join("\n"),
          }),
        })}
      />
      {handoffs.map((handoff) => (
        <div key={handoff.from.action} className="px-3 pb-2.5 text-sm">
          Handoff from{" "}
          <ActionLink run={graph.run_id} id={handoff.from.action}>
            {visibleLine(
              graph.actions.find(({ id }) => id === handoff.from.action)?.title ?? handoff.from.action,
            )}
          </ActionLink>
          <Facts
            facts={longTexts({
              Result: handoff.result_summary,
              Evidence: handoff.evidence.join("\n"),
              Artifacts: handoff.artifact_refs.join("\n"),
              Risks: handoff.risks.join("\n"),
              "Unresolved issues": handoff.unresolved_issues.join("\n"),
              "Next goal": handoff.next_goal,
              Constraints: handoff.constraints.join("\n"),
              "Depends on": handoff.dependencies.join(", "),
            })}
          />
        </div>
      ))}
    </Section>
  );
}

/** Links to an approval, pending or answered. */
export function ApprovalLink({ id, children }: { id: string; children: ReactNode }) {
  return (
    <TextLink to="/approvals" search={{ approval: id }}>
      {children}
    </TextLink>
  );
}

/** Links to an action of a run. */
export function ActionLink({ run, id, children }: { run: string; id: string; children: ReactNode }) {
  return (
    <Link
      to="/runs/$id"
      params={{ id: run }}
      search={(before) => ({ ...before, action: id })}
      className="line-clamp-2 min-w-0 break-words text-accent underline"
    >
      {children}
    </Link>
  );
}

const SHORT = 400;

/** A text from outside; a long one scrolls in a box of its own. */
export function LongText({ text }: { text: string }) {
  if (text.length <= SHORT) return visible(text);
  return (
    <div
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      className="max-h-32 overflow-auto"
    >
      {visible(text)}
    </div>
  );
}

/** The facts of which a text is known, each as a {@link LongText}. */
export function longTexts(texts: Readonly<Record<string, string | undefined>>): Record<string, ReactNode> {
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, text && <LongText key={name} text={text} />]),
  );
}
