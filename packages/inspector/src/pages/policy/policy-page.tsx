import {
  type CoverageReport,
  type LoadedPolicy,
  type PolicyStatus,
  policyOperations,
  studyOperations,
} from "@reins/api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { z } from "zod";
import { call, useGet } from "../../api/queries.ts";
import { useSelf } from "../../app/sign-in.tsx";
import { Badge, type Tone, VerdictBadge } from "../../design/badge.tsx";
import { Button, Hash } from "../../design/button.tsx";
import { Dialog } from "../../design/form.tsx";
import { count, formatValue, visible } from "../../design/format.ts";
import { Page, Panel, Tabs } from "../../design/layout.tsx";
import { EntryLink } from "../../design/markdown.tsx";
import { Alert, Empty, Failure, Loaded } from "../../design/states.tsx";
import { Table } from "../../design/table.tsx";
import { GrantList } from "../approvals/grant-list.tsx";
import { Backtest } from "./backtest.tsx";
import { Constitution, PolicyTests } from "./constitution.tsx";
import { DraftEditor } from "./draft-editor.tsx";
import { Hypothetical } from "./hypothetical.tsx";
import { RosterView } from "./roster.tsx";

/** A changed constitution that is looser and waits for an admin. */
function PendingPolicy({ status, waiting }: { status: PolicyStatus; waiting: z.infer<typeof LoadedPolicy> }) {
  const { is_admin } = useSelf();
  const queries = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const { rules_hash, constitution_hash } = waiting;
  const accept = useMutation({
    mutationFn: () => call(policyOperations.acceptPolicy, { body: { rules_hash, constitution_hash } }),
    onSuccess: (next) => {
      queries.setQueryData(["policy"], next);
      setOpen(false);
    },
  });
  return (
    <section
      aria-label="Pending policy"
      className="flex flex-wrap items-center gap-3 rounded border border-warn bg-warn-wash px-3 py-2 text-sm"
    >
      <p className="min-w-0 flex-1">
        <span className="font-medium text-warn">A looser constitution is pending.</span> The changed file is
        looser, or not provably stricter. The previous one stays in force until an admin accepts it.{" "}
        <Hash value={rules_hash} />
      </p>
      <Button onClick={() => setOpen(true)}>Review</Button>
      <Dialog
        open={isOpen}
        onClose={() => setOpen(false)}
        title="Pending constitution"
        about="Changed rules, and a backtest against recorded actions."
      >
        <RuleChanges before={status.in_force?.rules ?? []} after={waiting.rules} />
        {status.rules !== null && (
          <Backtest draft={{ rules: status.rules, ...(status.prose !== null && { prose: status.prose }) }} />
        )}
        <Failure error={accept.error} />
        <div className="flex justify-end gap-2">
          <Button onClick={() => setOpen(false)}>Cancel</Button>
          <Button
            kind="primary"
            disabled={!is_admin || accept.isPending}
            title={is_admin ? "" : "Only an admin may"}
            onClick={() => accept.mutate()}
          >
            {accept.isPending ? "Applying …" : "Accept"}
          </Button>
        </div>
      </Dialog>
    </section>
  );
}

export type Rule = z.infer<typeof LoadedPolicy>["rules"][number];

interface RuleChange {
  readonly rule: Rule;
  readonly kind: "new" | "gone" | "changed" | "moved";
}

/** Lists added, removed, changed and moved rules; rules are identified by name. */
export function ruleChanges(before: readonly Rule[], after: readonly Rule[]): RuleChange[] {
  const old = new Map(before.map((rule) => [rule.name, rule]));
  const names = new Set(after.map(({ name }) => name));
  const stayed = after.map(({ name }) => name).filter((name) => old.has(name));
  const order = before.map(({ name }) => name).filter((name) => names.has(name));
  const kindOf = (rule: Rule): RuleChange["kind"] | undefined => {
    const was = old.get(rule.name);
    if (!was) return "new";
    if (ruleText(was) !== ruleText(rule)) return "changed";
    return order.indexOf(rule.name) === stayed.indexOf(rule.name) ? undefined : "moved";
  };
  return [
    ...after.map((rule) => ({ rule, kind: kindOf(rule) })),
    ...before.filter(({ name }) => !names.has(name)).map((rule) => ({ rule, kind: "gone" as const })),
  ].flatMap(({ rule, kind }) => (kind === undefined ? [] : [{ rule, kind }]));
}

function ruleText({ condition, verdict, reason }: Rule): string {
  return JSON.stringify([condition, verdict, reason]);
}

const TONES: Readonly<Record<RuleChange["kind"], Tone>> = {
  new: "good",
  gone: "bad",
  changed: "note",
  moved: "note",
};

function RuleChanges({ before, after }: { before: readonly Rule[]; after: readonly Rule[] }) {
  const changes = ruleChanges(before, after);
  if (changes.length === 0)
    return <p className="text-sm text-ink-soft">The rules themselves are the same.</p>;
  return (
    <ul className="flex flex-col gap-1 text-sm">
      {changes.map(({ rule, kind }) => (
        <li key={`${kind}${rule.name}`} className="flex flex-wrap items-center gap-2">
          <Badge tone={TONES[kind]}>{kind}</Badge>
          <code className="text-xs">{rule.name}</code>
          <VerdictBadge verdict={rule.verdict} />
          <span className="text-2xs text-ink-faint">{formatValue(rule.condition) || "everything"}</span>
        </li>
      ))}
    </ul>
  );
}

/** The policy: constitution, tests, draft and roster. */
export function PolicyPage() {
  const { tab = "constitution" } = PolicySearch.parse(useSearch({ strict: false }));
  const navigate = useNavigate();
  const queries = useQueryClient();
  const { is_admin } = useSelf();
  const query = useGet(["policy"], policyOperations.getPolicy, { everyMs: 15_000 });
  const { data } = query;
  const reload = useMutation({
    mutationFn: () => call(policyOperations.reloadPolicy),
    onSuccess: (status) => queries.setQueryData(["policy"], status),
  });
  const inForce = data?.in_force;
  return (
    <Page
      title="Policy"
      about={
        inForce && (
          <>
            {inForce.rules.length} rules in force for {data.tenant}, constitution{" "}
            <Hash value={inForce.constitution_hash} />, rules <Hash value={inForce.rules_hash} />
          </>
        )
      }
      actions={
        is_admin && (
          <Button onClick={() => reload.mutate()} disabled={reload.isPending} title="Reads the files now">
            {reload.isPending ? "Reading the files …" : "Reload"}
          </Button>
        )
      }
    >
      <Failure error={reload.error} />
      {data?.fault && (
        <Alert
          title="The file on disk is invalid; the previous constitution stays in force"
          detail={data.fault}
        />
      )}
      {data?.waiting && <PendingPolicy status={data} waiting={data.waiting} />}
      {data && !inForce && (
        <Alert title="No constitution is in force: everything is blocked until the file can be read." />
      )}
      <Panel className="flex flex-1 flex-col">
        <Loaded query={query} what="Loading the constitution">
          {(status) => (
            <Tabs
              value={tab}
              onChange={(value) =>
                void navigate({ to: "/policy", search: { tab: PolicyTab.parse(value) }, replace: true })
              }
              tabs={[
                tabOf("constitution", "Constitution", <Constitution status={status} />),
                tabOf("tests", "Tests", <PolicyTests />),
                tabOf("coverage", "Coverage", <Coverage />),
                tabOf("draft", "Draft", <DraftEditor status={status} />),
                tabOf("explain", "Explain", <Hypothetical />),
                tabOf("roster", "Roster", <RosterView />),
                tabOf("grants", "Grants", <GrantList />),
              ]}
            />
          )}
        </Loaded>
      </Panel>
    </Page>
  );
}

/** A tab of the policy, with a heading for screen readers. */
function tabOf(value: PolicyTab, label: string, view: ReactNode) {
  const content = (
    <>
      <h2 className="sr-only">{label}</h2>
      {view}
    </>
  );
  return { value, label, content };
}

const PolicyTab = z.enum(["constitution", "tests", "coverage", "draft", "explain", "roster", "grants"]);
type PolicyTab = z.infer<typeof PolicyTab>;

const PolicySearch = z.object({ tab: PolicyTab.optional().catch(undefined) });

type Report = z.infer<typeof CoverageReport>;

/** How often each rule decided, and actions that no rule names. */
export function Coverage() {
  const query = useGet(["policy-coverage"], studyOperations.coverPolicy, { body: {} });
  return (
    <Loaded query={query} what="Computing coverage">
      {(report) =>
        report.total === 0 ? (
          <Empty title="No decisions yet">
            Shows how often each rule decided, and which actions no rule names.
          </Empty>
        ) : (
          <>
            <p className="px-3 py-2 text-sm text-ink-soft">
              Of {count(report.total)} actions, {count(report.named)} were decided by a rule that names them,{" "}
              {count(report.taken_by_all)} by one that matches everything, and {count(report.unmatched)} by
              none.
            </p>
            <Rules report={report} />
            <Unnamed report={report} />
          </>
        )
      }
    </Loaded>
  );
}

function Rules({ report: { rules, unreachable, total } }: { report: Report }) {
  const behind = new Set(unreachable.map(({ rule }) => rule));
  return (
    <Table
      label="How often each rule decided"
      rows={rules}
      keyOf={({ rule }) => rule}
      columns={[
        {
          title: "Rule",
          cell: ({ rule, matches, takes_all }) => (
            <span className="flex flex-wrap items-center gap-2">
              <code className="text-xs">{rule}</code>
              {takes_all && <Badge>matches everything</Badge>}
              {behind.has(rule) ? (
                <Badge tone="warn" title="An earlier rule matches everything that it would">
                  unreachable
                </Badge>
              ) : (
                matches === 0 && <Badge>never decided</Badge>
              )}
            </span>
          ),
        },
        {
          title: "Share",
          className: "w-1/3 min-w-32",
          cell: ({ matches }) => <Share part={matches} of={total} />,
        },
        { title: "Decided", isNumber: true, cell: ({ matches }) => count(matches) },
      ]}
    />
  );
}

/** A share as a bar; the number stands beside it. */
function Share({ part, of }: { part: number; of: number }) {
  return (
    <span aria-hidden="true" className="mt-1.5 block h-1.5 rounded-full bg-sunken">
      <span className="block h-full rounded-full bg-accent" style={{ width: `${shareOf(part, of)}%` }} />
    </span>
  );
}

/** A part of a whole in percent; anything above zero is at least one, so that it can be seen. */
export function shareOf(part: number, whole: number): number {
  return part === 0 || whole === 0 ? 0 : Math.max(1, (100 * part) / whole);
}

function Unnamed({ report: { unnamed, unnamed_left_out } }: { report: Report }) {
  if (unnamed.length === 0)
    return <p className="px-3 py-2 text-sm text-ink-soft">Every action was named by a rule.</p>;
  return (
    <>
      <h3 className="border-t border-line px-3 pt-3 pb-1 text-sm font-semibold">
        Actions that no rule names
      </h3>
      <Table
        label="Actions that no rule names"
        rows={unnamed}
        keyOf={({ verdict, rule, event_type, tool, agent }) =>
          JSON.stringify([verdict, rule, event_type, tool, agent])
        }
        columns={[
          { title: "Verdict", cell: ({ verdict }) => <VerdictBadge verdict={verdict} /> },
          { title: "Tool", isExact: true, cell: ({ tool }) => visible(tool) },
          { title: "Agent", cell: ({ agent }) => visible(agent) },
          {
            title: "For example",
            cell: ({ examples: [example] }) =>
              example && <EntryLink cid={example.entry}>{visible(example.what)}</EntryLink>,
          },
          { title: "Times", isNumber: true, cell: (group) => count(group.count) },
        ]}
      />
      {unnamed_left_out > 0 && (
        <p className="px-3 py-2 text-2xs text-ink-faint">and {count(unnamed_left_out)} more kinds</p>
      )}
    </>
  );
}
