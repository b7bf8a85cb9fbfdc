import { type Approval, approvalOperations } from "@reins/api";
import { ApiError } from "@reins/sdk";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import type { z } from "zod";
import { Observable } from "../../acp/observable.ts";
import { call } from "../../api/queries.ts";
import { PENDING, upsertPending } from "../../app/approvals.ts";
import { isBare, isTyping, useKeys } from "../../app/keys.ts";
import { Button } from "../../design/button.tsx";
import { Choice, Form, TextInput } from "../../design/form.tsx";
import { visibleLine } from "../../design/format.ts";
import { Failure } from "../../design/states.tsx";
import { commandText, effectText, saysAll } from "./action-text.ts";

/** A key pressed this soon after an approval appears was meant for the previous one. */
const UNREAD_MS = 400;

/** What the bar shows: the answers, the grant of "always", or the reason of a denial. */
type AnswerMode = "choosing" | "always" | "denying";

/** What a key does: it allows once or changes the mode. While a grant or a denial is edited, only Escape counts. */
export function answerKey(
  key: string,
  state: {
    readonly mode: AnswerMode;
    readonly canOnce: boolean;
    readonly canAlways: boolean;
    readonly isDone: boolean;
    readonly isRead: boolean;
    readonly isTyping: boolean;
  },
): "allow_once" | AnswerMode | undefined {
  const { mode, canOnce, canAlways, isDone, isRead } = state;
  if (isDone) return undefined;
  if (key === "Escape") return "choosing";
  if (!isRead || mode !== "choosing" || state.isTyping) return undefined;
  if (key === "a" && canOnce) return "allow_once";
  if (key === "s" && canAlways) return "always";
  return key === "d" ? "denying" : undefined;
}

/** The answers to an approval. With `hasKeys`: `a` allows once, `s` shows the grant of "always", `d` denies. */
export function AnswerBar({ approval, hasKeys = false }: { approval: Approval; hasKeys?: boolean }) {
  const { mutate, isPending, error, isSuccess } = useAnswer(approval.id);
  const [mode, setMode] = useState<AnswerMode>("choosing");
  const [reason, setReason] = useState("");
  const [expires, setExpires] = useState<number | undefined>();
  const [prefix, setPrefix] = useState<string[] | undefined>();
  const canOnce = approval.options.includes("allow_once");
  const canAlways = approval.options.includes("allow_always");
  const isDone = isPending || isSuccess;
  const shown = useRef(performance.now());
  useKeys(
    (event) => {
      if (!hasKeys || event.repeat) return;
      const isRead = performance.now() - shown.current >= UNREAD_MS;
      const state = { mode, canOnce, canAlways, isDone, isRead, isTyping: isTyping(event.target) };
      const action = answerKey(event.key, state);
      if (action === "denying") event.preventDefault();
      if (action === "allow_once") mutate({ decision: "allow_once" });
      else if (action) setMode(action);
    },
    { accepts: isBare },
  );
  const deny = () => mutate({ decision: "deny", ...(reason.trim() !== "" && { note: reason.trim() }) });
  const always = () =>
    mutate({
      decision: "allow_always",
      ...(expires !== undefined && { grant_expires_ms: expires }),
      ...(prefix && { prefix }),
    });
  return (
    <div className="flex flex-col gap-2">
      {mode === "always" && (
        <GrantPreview
          approval={approval}
          {...{ expires, prefix }}
          onExpires={setExpires}
          onPrefix={setPrefix}
        />
      )}
      {mode === "denying" && (
        <Form onSubmit={deny}>
          <TextInput
            label="Reason (sent to the agent and recorded)"
            autoFocus
            value={reason}
            maxLength={4_096}
            onChange={setReason}
          />
        </Form>
      )}
      <div className="flex flex-wrap gap-1.5">
        {mode === "choosing" && (
          <>
            {canOnce && (
              <Button
                kind="primary"
                disabled={isDone}
                title="Allow once (a)"
                onClick={() => mutate({ decision: "allow_once" })}
              >
                Allow once
              </Button>
            )}
            {canAlways && (
              <Button disabled={isDone} title="See what always means (s)" onClick={() => setMode("always")}>
                Always …
              </Button>
            )}
            <Button kind="danger" disabled={isDone} title="Deny (d)" onClick={() => setMode("denying")}>
              Deny …
            </Button>
          </>
        )}
        {mode === "always" && (
          <Button kind="primary" disabled={isDone} onClick={always}>
            Grant this
          </Button>
        )}
        {mode === "denying" && (
          <Button kind="danger" disabled={isDone} onClick={deny}>
            Deny
          </Button>
        )}
        {mode !== "choosing" && (
          <Button kind="quiet" disabled={isDone} title="Back (Escape)" onClick={() => setMode("choosing")}>
            Back
          </Button>
        )}
      </div>
      {!isTooLate(error) && <Failure error={error} />}
    </div>
  );
}

const LENGTHS = [
  ["", "until it is revoked"],
  [3_600_000, "for an hour"],
  [86_400_000, "for a day"],
  [7 * 86_400_000, "for a week"],
] as const;

/** The grant that "always" would create. */
function GrantPreview({
  approval,
  expires,
  prefix,
  onExpires,
  onPrefix,
}: {
  approval: Approval;
  expires: number | undefined;
  prefix: string[] | undefined;
  onExpires: (milliseconds: number | undefined) => void;
  onPrefix: (prefix: string[] | undefined) => void;
}) {
  const { agent, user, chain, facts, cwd, enforcement, prefixes = [], input_state = {} } = approval;
  const depends = Object.keys(input_state).length > 0;
  return (
    <div className="flex flex-col gap-2 rounded border border-line bg-sunken px-3 py-2 text-sm">
      <p className="font-medium">“Always” would grant exactly this, in any session:</p>
      <ul className="list-disc pl-5">
        <li>
          to <b>{visibleLine(agent)}</b>, for {visibleLine(user)}
          {chain.length > 0 && `, reached through ${visibleLine(chain.join(", "))}`}, held at level{" "}
          {enforcement}
        </li>
        {prefix ? (
          <li>
            every single command that begins with{" "}
            <code className="whitespace-pre-wrap">{commandText(prefix)}</code>, without redirections,
            substitutions or variables, and naming nothing outside of the folder
          </li>
        ) : (
          facts.effects.map((effect) => (
            <li key={JSON.stringify(effect)} className="font-mono text-xs whitespace-pre-wrap break-all">
              {effectText(effect)}
            </li>
          ))
        )}
        <li>
          with the tool <code className="whitespace-pre-wrap">{visibleLine(facts.tool)}</code>, in{" "}
          <code className="whitespace-pre-wrap break-all">{visibleLine(cwd)}</code>
          {!prefix && (saysAll(facts) ? ", with any other arguments" : ", with exactly these arguments")}
        </li>
        {depends && <li>as long as the scripts and manifests it depends on are what they are now</li>}
      </ul>
      {prefixes.length > 0 && (
        <Choice
          label="What"
          className="max-w-96"
          value={prefix ? prefixes.findIndex((one) => one.join("\0") === prefix.join("\0")) : ""}
          options={[
            ["", "exactly this command"],
            ...prefixes.map((words, index) => [index, `${commandText(words)} … here`] as const),
          ]}
          onChange={(index) => onPrefix(index === "" ? undefined : prefixes[Number(index)])}
        />
      )}
      <Choice
        label="How long"
        className="max-w-56"
        value={expires ?? ""}
        options={LENGTHS}
        onChange={(length) => onExpires(length === "" ? undefined : Number(length))}
      />
    </div>
  );
}

type Answer = z.input<typeof approvalOperations.answerApproval.body>;

/** Answers an approval once. Reports if another answer was first. */
function useAnswer(id: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: Answer) => call(approvalOperations.answerApproval, { params: { id }, body }),
    onSuccess: (approval) =>
      queries.setQueryData<readonly Approval[]>(PENDING, (known) => known && upsertPending(known, approval)),
    onError: (error) => {
      if (!isTooLate(error)) return;
      late.set(id);
      void queries.invalidateQueries({ queryKey: PENDING });
    },
  });
}

/** Whether another answer was first. */
export function isTooLate(error: unknown): boolean {
  return error instanceof ApiError && error.status === 409;
}

/** The approval that another user answered first; it has left the page by then. */
const late = new Observable<string | undefined>(undefined);
const SHOWN_MS = 15_000;

/** Reports that another answer was first. */
export function LateNotice() {
  const id = useSyncExternalStore(late.subscribe, late.current, late.current);
  useEffect(() => {
    if (id === undefined) return;
    const timer = setTimeout(() => late.set(undefined), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [id]);
  if (id === undefined) return null;
  return (
    <div role="alert" className="flex items-center gap-3 rounded bg-warn-wash px-3 py-1.5 text-sm text-warn">
      <span className="flex-1">Another user answered first; that answer counts.</span>
      <Button kind="quiet" onClick={() => late.set(undefined)}>
        Dismiss
      </Button>
    </div>
  );
}
