import { type LoadedPolicy, type PolicyStatus, policyOperations } from "@reins/api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { z } from "zod";
import { call } from "../../api/call.ts";
import { useSelf } from "../../app/sign-in.tsx";
import { Badge, type Tone, VerdictBadge } from "../../design/badge.tsx";
import { Button, Hash } from "../../design/button.tsx";
import { Dialog } from "../../design/form.tsx";
import { formatValue } from "../../design/format.ts";
import { Failure } from "../../design/states.tsx";
import { Backtest } from "./backtest.tsx";

/** A changed constitution that is looser and waits for an admin. */
export function PendingPolicy({
  status,
  waiting,
}: {
  status: PolicyStatus;
  waiting: z.infer<typeof LoadedPolicy>;
}) {
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
