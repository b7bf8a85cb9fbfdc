import type { Agent } from "@reins/api";
import { Link } from "@tanstack/react-router";
import { Choice, Field } from "../../design/field.tsx";
import { useAgents } from "../agents/use-agents.ts";

/** Which agent: those that are installed can be chosen. */
export function AgentChoice({ value, onChange }: { value: string; onChange: (agent: string) => void }) {
  const { data, error } = useAgents();
  const agents = (data ?? []).filter(({ support }) => support.level !== "unsupported");
  const ready = agents.filter(({ install }) => install !== null);
  const chosen = ready.find(({ agent }) => agent === value);
  return (
    <Field
      label="Agent"
      hint={error ? `The other agents cannot be listed: ${error.message}` : hintOf(chosen)}
    >
      {(id) => (
        <Choice id={id} value={value} onChange={({ target }) => onChange(target.value)}>
          {!chosen && <option value={value}>{value}</option>}
          {ready.map(({ agent, name }) => (
            <option key={agent} value={agent}>
              {name}
            </option>
          ))}
          {agents
            .filter(({ install }) => install === null)
            .map(({ agent, name }) => (
              <option key={agent} value={agent} disabled>
                {name} (not installed)
              </option>
            ))}
        </Choice>
      )}
    </Field>
  );
}

function hintOf(agent: Agent | undefined) {
  return (
    <>
      {agent && `Held at level ${agent.enforcement.level}: ${agent.enforcement.reason}. `}
      More can be installed among the{" "}
      <Link to="/agents" className="text-accent underline">
        agents
      </Link>
      .
    </>
  );
}
