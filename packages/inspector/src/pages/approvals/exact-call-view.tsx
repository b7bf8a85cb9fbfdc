import type { ReactNode } from "react";
import { Code, Json } from "../../design/code.tsx";
import { Diff } from "../../design/diff.tsx";
import { exactCall } from "./exact-call.ts";

/** A call exactly as it will be made, with all that cannot be seen made visible. */
export function ExactCallView({ given }: { given: unknown }) {
  const call = exactCall(given);
  if (call.kind === "arguments") return <Json value={call.value ?? null} className="max-h-60" />;
  if (call.kind === "command")
    return (
      <WithRest rest={call.rest}>
        <Code text={`$ ${call.command}`} className="max-h-60" />
      </WithRest>
    );
  return (
    <WithRest rest={call.rest}>
      <Diff path={call.path} before={call.before} after={call.after} />
    </WithRest>
  );
}

function WithRest({ rest, children }: { rest: Readonly<Record<string, unknown>>; children: ReactNode }) {
  if (Object.keys(rest).length === 0) return children;
  return (
    <div className="flex flex-col gap-1">
      {children}
      <p className="text-2xs text-ink-faint">and with these arguments</p>
      <Json value={rest} className="max-h-60" />
    </div>
  );
}
