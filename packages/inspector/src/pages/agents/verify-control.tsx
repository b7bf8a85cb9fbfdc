import { type AgentDetail, type AgentVerifyProgress, agentsOperations } from "@reins/api";
import { useCallback } from "react";
import { progress } from "../../api/progress.ts";
import { Button } from "../../design/button.tsx";
import { Failure } from "../../design/states.tsx";
import { ProgressLine } from "./progress-line.tsx";
import { useProgress } from "./use-progress.ts";

/** Proves with a scripted model whether an agent asks, and stamps it. */
export function VerifyControl({ agent: { agent } }: { agent: AgentDetail }) {
  const begin = useCallback(
    (signal: AbortSignal) => progress(agentsOperations.verifyAgent, { params: { agent }, signal }),
    [agent],
  );
  const { isRunning, latest, error, start } = useProgress(begin);
  return (
    <div className="flex flex-col gap-2 border-t border-line px-3 py-2">
      <div className="flex flex-wrap items-center gap-3">
        <Button
          disabled={isRunning}
          onClick={start}
          title="Runs it against a scripted model that wants forbidden things; takes a minute or two"
        >
          Prove that it asks
        </Button>
        {latest && <ProgressLine {...lineOf(latest)} />}
        {isRunning && !latest && <ProgressLine text="Starting it against a scripted model" />}
      </div>
      {error !== undefined && <Failure error={error} />}
      {latest?.phase === "failed" && <Failure error={new Error(latest.message)} />}
    </div>
  );
}

function lineOf(latest: AgentVerifyProgress): { text: string; done?: number; total?: number } {
  if (latest.phase === "probing")
    return {
      text: `${latest.setting}: ${latest.probe}, answered ${latest.answer}`,
      done: latest.done,
      total: latest.total,
    };
  if (latest.phase === "failed") return { text: "It could not be proved" };
  const { live } = latest.verification;
  return {
    text: live === false ? "Its gate is not live" : "It asks, and heeds the answer",
    done: 1,
    total: 1,
  };
}
