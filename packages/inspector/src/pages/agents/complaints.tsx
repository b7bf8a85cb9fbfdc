import type { KeptStderr } from "@reins/api";
import type { z } from "zod";
import { Code } from "../../design/code.tsx";
import { bytes } from "../../design/number.ts";

/** What a process said on its standard error: the beginning and the end. */
export function Complaints({ stderr: { head, tail, omitted } }: { stderr: z.infer<typeof KeptStderr> }) {
  if (head === "" && tail === "") return <p className="text-sm text-ink-soft">It complained of nothing.</p>;
  const middle = omitted > 0 ? `\n… ${bytes(omitted)} were not kept …\n` : "";
  return <Code text={`${head}${middle}${tail}`} className="max-h-64" />;
}
