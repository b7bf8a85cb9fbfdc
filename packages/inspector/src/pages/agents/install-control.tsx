import { type AgentDetail, type AgentInstallProgress, agentsOperations } from "@reins/api";
import { useCallback, useState } from "react";
import { progress } from "../../api/progress.ts";
import { Button } from "../../design/button.tsx";
import { Field, TextInput } from "../../design/field.tsx";
import { Failure } from "../../design/states.tsx";
import { ProgressLine } from "./progress-line.tsx";
import { useProgress } from "./use-progress.ts";

/** Installs an agent, and tells how far that is. */
export function InstallControl({ agent: { agent, install, installing, support } }: { agent: AgentDetail }) {
  const [version, setVersion] = useState("");
  const [processVersion, setProcessVersion] = useState("");
  const isAsked = version !== "" || processVersion !== "";
  const reinstall = install !== null && !install.outdated && !isAsked;
  const begin = useCallback(
    (signal: AbortSignal) =>
      progress(agentsOperations.installAgent, {
        params: { agent },
        body: {
          reinstall,
          ...(version !== "" && { agent_version: version }),
          ...(processVersion !== "" && { agent_process_version: processVersion }),
        },
        signal,
      }),
    [agent, reinstall, version, processVersion],
  );
  const { isRunning, latest, error, start } = useProgress(begin);
  if (support.level === "unsupported" && !install) return null;
  return (
    <div className="flex flex-col gap-2 border-t border-line px-3 py-2">
      <div className="flex flex-wrap items-center gap-3">
        <Button kind={install ? "plain" : "primary"} disabled={isRunning} onClick={start}>
          {isAsked ? "Install these versions" : labelOf(install, installing)}
        </Button>
        {latest && <ProgressLine {...lineOf(latest)} />}
        {isRunning && !latest && <ProgressLine text="Beginning to install" />}
      </div>
      {error !== undefined && <Failure error={error} />}
      {latest?.phase === "failed" && <Failure error={new Error(latest.message)} />}
      <details className="text-sm">
        <summary className="cursor-pointer text-2xs text-ink-soft">
          Other versions than the catalogue's
        </summary>
        <div className="grid grid-cols-2 gap-2 pt-2">
          <Field label="The agent itself">
            {(id) => (
              <TextInput
                id={id}
                value={version}
                placeholder="1.2.3"
                onChange={({ target }) => setVersion(target.value.trim())}
              />
            )}
          </Field>
          <Field label="What speaks ACP">
            {(id) => (
              <TextInput
                id={id}
                value={processVersion}
                placeholder="1.2.3"
                onChange={({ target }) => setProcessVersion(target.value.trim())}
              />
            )}
          </Field>
        </div>
        <p className="pt-1 text-2xs text-ink-faint">
          What the catalogue knows of an agent was seen with its own versions. Prove again that it asks.
        </p>
      </details>
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
