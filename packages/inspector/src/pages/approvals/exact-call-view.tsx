import { Code, Json } from "../../design/code.tsx";
import { Diff } from "../../design/diff.tsx";
import { exactCall } from "./exact-call.ts";

/** A call exactly as it will be made, with all that cannot be seen made visible. */
export function ExactCallView({ given }: { given: unknown }) {
  const call = exactCall(given);
  if (call.kind === "command") return <Code text={`$ ${call.command}`} className="max-h-60" />;
  if (call.kind === "diff") return <Diff path={call.path} before={call.before} after={call.after} />;
  return <Json value={call.value ?? null} className="max-h-60" />;
}
