import { rosterOperations } from "@reins/api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { call } from "../../api/call.ts";
import { Choice } from "../../design/field.tsx";
import { Failure } from "../../design/states.tsx";

/** How a line of the roster says each trust: a live role is standing, whoever is dead is unknown. */
const LINES = {
  unknown: { state: "dead" },
  registered: { kind: "agent", state: "live" },
  standing: { kind: "role", state: "live" },
} as const;

/** Says how well an agent is known from now on. */
export function TrustChoice({ agent, trust }: { agent: string; trust: keyof typeof LINES }) {
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: (next: keyof typeof LINES) =>
      call(rosterOperations.setAgent, { params: { agent }, body: LINES[next] }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["roster"] }),
  });
  return (
    <>
      <Choice
        aria-label={`Trust of ${agent}`}
        value={trust}
        disabled={change.isPending}
        className="min-w-32"
        onChange={({ target }) => change.mutate(trustNamed(target.value))}
      >
        <option>unknown</option>
        <option>registered</option>
        <option>standing</option>
      </Choice>
      {change.error && <Failure error={change.error} />}
    </>
  );
}

function trustNamed(name: string): keyof typeof LINES {
  return name === "standing" || name === "registered" ? name : "unknown";
}
