import {
  type AgentDetail,
  type AgentInstallProgress,
  type AgentVerifyProgress,
  agentsOperations,
} from "@reins/api";
import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useCallback, useEffect, useRef, useState } from "react";
import { http } from "../../api/queries.ts";
import { Button, type ButtonKind } from "../../design/button.tsx";
import { TextInput } from "../../design/form.tsx";
import { Failure, ProgressBar } from "../../design/states.tsx";
import { AGENTS } from "./catalogue.tsx";

/** Installs an agent and shows the progress. */
export function InstallControl({ agent: { agent, install, installing, support } }: { agent: AgentDetail }) {
  const [version, setVersion] = useState("");
  const [processVersion, setProcessVersion] = useState("");
  const isAsked = version !== "" || processVersion !== "";
  const update = install !== null && !isAsked && (install.outdated || install.update !== null);
  const reinstall = install !== null && !isAsked && !update;
  const begin = useCallback(
    (signal: AbortSignal) =>
      http.progress(agentsOperations.installAgent, {
        params: { agent },
        body: {
          reinstall,
          update,
          ...(version !== "" && { agent_version: version }),
          ...(processVersion !== "" && { agent_process_version: processVersion }),
        },
        signal,
      }),
    [agent, reinstall, update, version, processVersion],
  );
  if (support.level === "unsupported" && !install) return null;
  return (
    <LongOperation
      begin={begin}
      label={isAsked ? "Install these versions" : installLabel(install, installing)}
      kind={install ? "plain" : "primary"}
      starting="Starting the installation"
      textOf={installText}
    >
      <details className="text-sm">
        <summary className="cursor-pointer text-2xs text-ink-soft">
          Versions other than the catalogue's
        </summary>
        <div className="grid grid-cols-2 gap-2 pt-2">
          <TextInput
            label="The agent itself"
            value={version}
            placeholder="1.2.3"
            onChange={(text) => setVersion(text.trim())}
          />
          <TextInput
            label="ACP adapter"
            value={processVersion}
            placeholder="1.2.3"
            onChange={(text) => setProcessVersion(text.trim())}
          />
        </div>
        <p className="pt-1 text-2xs text-ink-faint">
          The catalogue was verified with its own versions. Verify the agent again.
        </p>
      </details>
    </LongOperation>
  );
}

/** The label of the button that installs an agent. */
export function installLabel(install: AgentDetail["install"], installing: boolean): string {
  if (installing) return "Show progress";
  if (!install) return "Install";
  if (install.update !== null) return `Update to ${install.update}`;
  return install.outdated ? "Update" : "Install again";
}

/** The progress of an installation as text and numbers. */
export function installText(latest: AgentInstallProgress): ProgressText {
  if (latest.phase === "asked") return { text: `Waiting for the approval ${latest.approval}` };
  if (latest.phase === "waiting") return { text: `Waiting for process ${latest.holder}, which installs it` };
  if (latest.phase === "installing")
    return {
      text: `Installing packages: ${latest.done} of ${latest.total}`,
      done: latest.done,
      total: latest.total,
    };
  if (latest.phase === "verifying") {
    const { done, total } = latest;
    const counted = done !== undefined && total !== undefined ? { done, total } : {};
    return { text: "Checking what was installed", ...counted };
  }
  if (latest.phase === "installed") return { text: `Installed ${latest.install.version}`, done: 1, total: 1 };
  return { text: "The installation failed" };
}

/** Runs the probes that show whether an agent asks, and stamps the result. */
export function VerifyControl({ agent: { agent } }: { agent: AgentDetail }) {
  const begin = useCallback(
    (signal: AbortSignal) => http.progress(agentsOperations.verifyAgent, { params: { agent }, signal }),
    [agent],
  );
  return (
    <LongOperation
      begin={begin}
      label="Verify that it asks"
      title="Runs the agent against a scripted model that requests forbidden actions; takes a minute or two"
      starting="Starting the agent with a scripted model"
      textOf={probeText}
    />
  );
}

/** The progress of a verification as text and numbers. */
export function probeText(latest: AgentVerifyProgress): ProgressText {
  if (latest.phase === "probing")
    return {
      text: `${latest.setting}: ${latest.probe}, answered ${latest.answer}`,
      done: latest.done,
      total: latest.total,
    };
  if (latest.phase === "failed") return { text: "The verification failed" };
  const { live } = latest.verification;
  return {
    text: live === false ? "Its gate is not live" : "It asks and obeys the answer",
    done: 1,
    total: 1,
  };
}

/** Progress in words, and as a part of a whole if that is known. */
interface ProgressText {
  readonly text: string;
  readonly done?: number;
  readonly total?: number;
}

/** A button that starts a long operation, its progress and its failure. */
function LongOperation<T extends { readonly phase: string; readonly message?: string }>({
  begin,
  label,
  title,
  kind = "plain",
  starting,
  textOf,
  children,
}: {
  begin: (signal: AbortSignal) => AsyncIterable<T>;
  label: string;
  title?: string;
  kind?: ButtonKind;
  /** What is shown before the first progress. */
  starting: string;
  textOf: (latest: T) => ProgressText;
  children?: ReactNode;
}) {
  const { isRunning, latest, error, start } = useProgress(begin);
  return (
    <div className="flex flex-col gap-2 border-t border-line px-3 py-2">
      <div className="flex flex-wrap items-center gap-3">
        <Button kind={kind} disabled={isRunning} title={title} onClick={start}>
          {label}
        </Button>
        {latest && <ProgressLine {...textOf(latest)} />}
        {isRunning && !latest && <ProgressLine text={starting} />}
      </div>
      <Failure error={error} />
      {latest?.phase === "failed" && <Failure error={new Error(latest.message)} />}
      {children}
    </div>
  );
}

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

function ProgressLine({ text, done = 0, total = 0 }: ProgressText) {
  return (
    <div className="flex min-w-48 flex-1 flex-col gap-1.5 text-sm">
      <span role="status" className="tabular-nums">
        {text}
      </span>
      {total > 0 && <ProgressBar label={text} part={done / total} />}
    </div>
  );
}
