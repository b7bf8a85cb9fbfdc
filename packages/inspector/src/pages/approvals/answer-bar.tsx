import type { Approval } from "@reins/api";
import { useEffect, useState } from "react";
import { isWriting } from "../../app/use-go-keys.ts";
import { Button } from "../../design/button.tsx";
import { Field, TextInput } from "../../design/field.tsx";
import { Failure } from "../../design/states.tsx";
import { GrantPreview } from "./grant-preview.tsx";
import { isTooLate, useAnswer } from "./use-answer.ts";

/** A key that comes this soon after an approval was shown was meant for the one before. */
const UNREAD_MS = 400;

/** The ways to answer an approval. With `hasKeys`, `a` allows once, `s` shows what always means, `d` denies. */
export function AnswerBar({ approval, hasKeys = false }: { approval: Approval; hasKeys?: boolean }) {
  const { mutate, isPending, error, isSuccess } = useAnswer(approval.id);
  const [mode, setMode] = useState<"choosing" | "always" | "denying">("choosing");
  const [reason, setReason] = useState("");
  const [expires, setExpires] = useState<number | undefined>();
  const [prefix, setPrefix] = useState<string[] | undefined>();
  const canOnce = approval.options.includes("allow_once");
  const canAlways = approval.options.includes("allow_always");
  const isDone = isPending || isSuccess;
  useEffect(() => {
    if (!hasKeys) return;
    const shown = performance.now();
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || event.repeat) return;
      if (isDone) return;
      if (event.key === "Escape") return setMode("choosing");
      if (performance.now() - shown < UNREAD_MS) return;
      // Whoever has begun to deny or to grant says so, or goes back first.
      if (mode !== "choosing" || isWriting(event.target)) return;
      if (event.key === "a" && canOnce) mutate({ decision: "allow_once" });
      if (event.key === "s" && canAlways) setMode("always");
      if (event.key === "d") {
        event.preventDefault();
        setMode("denying");
      }
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [hasKeys, canOnce, canAlways, isDone, mode, mutate]);
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
        <form
          onSubmit={(event) => {
            event.preventDefault();
            deny();
          }}
        >
          <Field label="Why not? The agent and the record are told.">
            {(id) => (
              <TextInput
                id={id}
                autoFocus
                value={reason}
                maxLength={4_096}
                onChange={({ target }) => setReason(target.value)}
              />
            )}
          </Field>
        </form>
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
      {error && !isTooLate(error) && <Failure error={error} />}
    </div>
  );
}
