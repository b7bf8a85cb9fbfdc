import { type AgentDetail, type AgentInstallProgress, agentsOperations } from "@reins/api";
import { useCallback } from "react";
import { progress } from "../../api/progress.ts";
import { Button } from "../../design/button.tsx";
import { Failure } from "../../design/states.tsx";
import { ProgressLine } from "./progress-line.tsx";
import { useProgress } from "./use-progress.ts";

/** Installs an agent, and tells how far that is. */
export function InstallControl({ agent: { agent, install, installing, support } }: { agent: AgentDetail }) {
  const reinstall = install !== null && !install.outdated;
  const begin = useCallback(
    (signal: AbortSignal) =>
      progress(agentsOperations.installAgent, { params: { agent }, body: { reinstall }, signal }),
    [agent, reinstall],
  );
  const { isRunning, latest, error, start } = useProgress(begin);
  if (support.level === "unsupported" && !install) return null;
  return (
    <div className="flex flex-col gap-2 border-t border-line px-3 py-2">
      <div className="flex flex-wrap items-center gap-3">
        <Button kind={install ? "plain" : "primary"} disabled={isRunning} onClick={start}>
          {labelOf(install, installing)}
        </Button>
        {latest && <ProgressLine {...lineOf(latest)} />}
        {isRunning && !latest && <ProgressLine text="Beginning to install" />}
      </div>
      {error !== undefined && <Failure error={error} />}
      {latest?.phase === "failed" && <Failure error={new Error(latest.message)} />}
    </div>
  );
}

function labelOf(install: AgentDetail["install"], installing: boolean): string {
  if (installing) return "Follow the install";
  if (!install) return "Install";
  return install.outdated ? "Update" : "Install again";
}

function lineOf(latest: AgentInstallProgress): { text: string; done?: number; total?: number } {
  if (latest.phase === "waiting") return { text: `Waiting for process ${latest.holder}, which installs it` };
  if (latest.phase === "installing")
    return {
      text: `Installing packages: ${latest.done} of ${latest.total}`,
      done: latest.done,
      total: latest.total,
    };
  if (latest.phase === "verifying") return { text: "Checking what was installed" };
  if (latest.phase === "installed") return { text: `Installed ${latest.install.version}`, done: 1, total: 1 };
  return { text: "It was not installed" };
}
