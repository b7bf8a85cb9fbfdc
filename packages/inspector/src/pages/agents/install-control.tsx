import {
  type AgentDetail,
  type AgentInstallProgress,
  type AgentVerifyProgress,
  agentsOperations,
} from "@reins/api";
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { progress } from "../../api/stream.ts";
import { Button } from "../../design/button.tsx";
import { Field, TextInput } from "../../design/form.tsx";
import { Failure, ProgressBar } from "../../design/states.tsx";
import { AGENTS } from "./catalogue.tsx";

/** Installs an agent and shows the progress. */
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
        {latest && <ProgressLine {...installText(latest)} />}
        {isRunning && !latest && <ProgressLine text="Starting the installation" />}
      </div>
      {error !== undefined && <Failure error={error} />}
      {latest?.phase === "failed" && <Failure error={new Error(latest.message)} />}
      <details className="text-sm">
        <summary className="cursor-pointer text-2xs text-ink-soft">
          Versions other than the catalogue's
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
          <Field label="ACP adapter">
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
          The catalogue was verified with its own versions. Verify the agent again.
        </p>
      </details>
    </div>
  );
}

function labelOf(install: AgentDetail["install"], installing: boolean): string {
  if (installing) return "Show progress";
  if (!install) return "Install";
  return install.outdated ? "Update" : "Install again";
}

function installText(latest: AgentInstallProgress): { text: string; done?: number; total?: number } {
  if (latest.phase === "waiting") return { text: `Waiting for process ${latest.holder}, which installs it` };
  if (latest.phase === "installing")
    return {
      text: `Installing packages: ${latest.done} of ${latest.total}`,
      done: latest.done,
      total: latest.total,
    };
  if (latest.phase === "verifying") return { text: "Checking what was installed" };
  if (latest.phase === "installed") return { text: `Installed ${latest.install.version}`, done: 1, total: 1 };
  return { text: "The installation failed" };
}

/** Runs the probes that show whether an agent asks, and stamps the result. */
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
          title="Runs the agent against a scripted model that requests forbidden actions; takes a minute or two"
        >
          Verify that it asks
        </Button>
        {latest && <ProgressLine {...probeText(latest)} />}
        {isRunning && !latest && <ProgressLine text="Starting the agent with a scripted model" />}
      </div>
      {error !== undefined && <Failure error={error} />}
      {latest?.phase === "failed" && <Failure error={new Error(latest.message)} />}
    </div>
  );
}

function probeText(latest: AgentVerifyProgress): { text: string; done?: number; total?: number } {
  if (latest.phase === "probing")
    return {
      text: `${latest.setting}: ${latest.probe}, answered ${latest.answer}`,
      done: latest.done,
      total: latest.total,
    };
  if (latest.phase === "failed") return { text: "It could not be proved" };
  const { live } = latest.verification;
  return {
    text: live === false ? "Its gate is not live" : "It asks and obeys the answer",
    done: 1,
    total: 1,
  };
}

/** The progress of a long operation. */
interface Progressing<T> {
  readonly isRunning: boolean;
  readonly latest: T | undefined;
  readonly error: unknown;
}

const NOTHING = { isRunning: false, latest: undefined, error: undefined };

/** Starts a long operation and tracks its progress. It continues on the server after the page is closed. */
function useProgress<T>(begin: (signal: AbortSignal) => AsyncIterable<T>) {
  const [state, setState] = useState<Progressing<T>>(NOTHING);
  const queries = useQueryClient();
  const following = useRef<AbortController>(undefined);
  useEffect(() => () => following.current?.abort(), []);
  const start = useCallback(async () => {
    const controller = new AbortController();
    following.current = controller;
    setState({ ...NOTHING, isRunning: true });
    try {
      for await (const latest of begin(controller.signal))
        setState({ isRunning: true, latest, error: undefined });
      setState((before) => ({ ...before, isRunning: false }));
    } catch (error) {
      if (!controller.signal.aborted) setState({ isRunning: false, latest: undefined, error });
    }
    void queries.invalidateQueries({ queryKey: AGENTS });
  }, [begin, queries]);
  return { ...state, start: () => void start() };
}

/** Progress as text and bar. */
function ProgressLine({ text, done, total }: { text: string; done?: number; total?: number }) {
  return (
    <div className="flex min-w-48 flex-1 flex-col gap-1.5 text-sm">
      <span role="status" className="tabular-nums">
        {text}
      </span>
      {total !== undefined && total > 0 && <ProgressBar label={text} part={(done ?? 0) / total} />}
    </div>
  );
}
