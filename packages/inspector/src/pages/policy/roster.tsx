import { rosterOperations } from "@reins/api";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "../../api/call.ts";
import { useSelf } from "../../app/sign-in.tsx";
import { Badge, type Tone } from "../../design/badge.tsx";
import { Button } from "../../design/button.tsx";
import { Choice, TextInput } from "../../design/form.tsx";
import { Empty, Failure, Waiting } from "../../design/states.tsx";
import { Cell, Table } from "../../design/table.tsx";

const TONES: Readonly<Record<string, Tone>> = { unknown: "bad", registered: "neutral", standing: "good" };

/** The known agents and their trust. */
export function RosterView() {
  const { is_admin } = useSelf();
  const { data, error, refetch } = useQuery({
    queryKey: ["roster"],
    queryFn: ({ signal }) => call(rosterOperations.getRoster, { signal }),
  });
  if (error)
    return (
      <div className="p-3">
        <Failure error={error} onRetry={() => void refetch()} />
      </div>
    );
  if (!data) return <Waiting what="Loading the roster" />;
  return (
    <>
      {data.faults.map((fault) => (
        <p key={fault} role="alert" className="px-3 py-2 text-sm text-bad">
          {fault}
        </p>
      ))}
      {data.agents.length === 0 ? (
        <Empty title="The roster is empty">
          Agents that are not on it have unknown trust. Register one below.
        </Empty>
      ) : (
        <Table
          label="Agents on the roster"
          columns={[
            { title: "Agent" },
            { title: "Trust" },
            { title: "State" },
            { title: "Mandate" },
            { title: "Change", isHidden: true },
          ]}
        >
          {data.agents.map(({ agent, trust, entry }) => (
            <tr key={agent}>
              <Cell isExact>{agent}</Cell>
              <Cell>
                <Badge tone={TONES[trust] ?? "neutral"}>{trust}</Badge>
              </Cell>
              <Cell className="text-ink-soft">{String(entry.state ?? "")}</Cell>
              <Cell isExact className="text-ink-soft">
                {String(entry.mandate ?? "")}
              </Cell>
              <Cell>{is_admin && <TrustChoice agent={agent} trust={trust} />}</Cell>
            </tr>
          ))}
        </Table>
      )}
      {is_admin && <Register />}
    </>
  );
}

function Register() {
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const add = useMutation({
    mutationFn: () =>
      call(rosterOperations.addAgent, { body: { session_id: name.trim(), kind: "agent", state: "live" } }),
    onSuccess: () => {
      setName("");
      void queries.invalidateQueries({ queryKey: ["roster"] });
    },
  });
  return (
    <form
      className="flex flex-wrap items-center gap-2 border-t border-line px-3 py-2"
      onSubmit={(event) => {
        event.preventDefault();
        add.mutate();
      }}
    >
      <TextInput
        aria-label="Agent to register"
        placeholder="the id of an agent"
        className="max-w-56"
        required
        maxLength={128}
        value={name}
        onChange={({ target }) => setName(target.value)}
      />
      <Button type="submit" disabled={add.isPending}>
        {add.isPending ? "Registering …" : "Register"}
      </Button>
      {add.error && <Failure error={add.error} />}
    </form>
  );
}

/** How a line of the roster expresses each trust: a live role is standing, a dead one unknown. */
const LINES = {
  unknown: { state: "dead" },
  registered: { kind: "agent", state: "live" },
  standing: { kind: "role", state: "live" },
} as const;

/** Changes the trust of an agent. */
function TrustChoice({ agent, trust }: { agent: string; trust: keyof typeof LINES }) {
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
