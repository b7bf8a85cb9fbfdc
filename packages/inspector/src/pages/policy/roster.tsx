import { rosterOperations } from "@reins/api";
import { useState } from "react";
import { call, useChange, useGet } from "../../api/queries.ts";
import { useSelf } from "../../app/sign-in.tsx";
import { Badge, type Tone } from "../../design/badge.tsx";
import { Button } from "../../design/button.tsx";
import { Choice, Form, TextInput } from "../../design/form.tsx";
import { Empty, Failure, Loaded } from "../../design/states.tsx";
import { Table } from "../../design/table.tsx";

const ROSTER = ["roster"] as const;
const TONES: Readonly<Record<string, Tone>> = { unknown: "bad", registered: "neutral", standing: "good" };

/** The known agents and their trust. */
export function RosterView() {
  const { is_admin } = useSelf();
  return (
    <Loaded query={useGet(ROSTER, rosterOperations.getRoster)} what="Loading the roster">
      {({ faults, agents }) => (
        <>
          {faults.map((fault) => (
            <p key={fault} role="alert" className="px-3 py-2 text-sm text-bad">
              {fault}
            </p>
          ))}
          <Table
            label="Agents on the roster"
            rows={agents}
            keyOf={({ agent }) => agent}
            empty={
              <Empty title="The roster is empty">
                Agents that are not on it have unknown trust. Register one below.
              </Empty>
            }
            columns={[
              { title: "Agent", isExact: true, cell: ({ agent }) => agent },
              {
                title: "Trust",
                cell: ({ trust }) => <Badge tone={TONES[trust] ?? "neutral"}>{trust}</Badge>,
              },
              {
                title: "State",
                className: "text-ink-soft",
                cell: ({ entry }) => String(entry.state ?? ""),
              },
              {
                title: "Mandate",
                isExact: true,
                className: "text-ink-soft",
                cell: ({ entry }) => String(entry.mandate ?? ""),
              },
              {
                title: "Change",
                isHidden: true,
                className: "w-44",
                cell: ({ agent, trust }) => is_admin && <TrustChoice agent={agent} trust={trust} />,
              },
            ]}
          />
          {is_admin && <Register />}
        </>
      )}
    </Loaded>
  );
}

function Register() {
  const [name, setName] = useState("");
  const add = useChange(
    ROSTER,
    () =>
      call(rosterOperations.addAgent, { body: { session_id: name.trim(), kind: "agent", state: "live" } }),
    () => setName(""),
  );
  return (
    <Form
      className="flex flex-wrap items-center gap-2 border-t border-line px-3 py-2"
      onSubmit={() => add.mutate()}
    >
      <TextInput
        aria-label="Agent to register"
        placeholder="the id of an agent"
        className="max-w-56"
        required
        maxLength={128}
        value={name}
        onChange={setName}
      />
      <Button type="submit" disabled={add.isPending}>
        {add.isPending ? "Registering …" : "Register"}
      </Button>
      <Failure error={add.error} />
    </Form>
  );
}

/** How a line of the roster expresses each trust: a live role is standing, a dead one unknown. */
const LINES = {
  unknown: { state: "dead" },
  registered: { kind: "agent", state: "live" },
  standing: { kind: "role", state: "live" },
} as const;
type Trust = keyof typeof LINES;

function TrustChoice({ agent, trust }: { agent: string; trust: Trust }) {
  const change = useChange(ROSTER, (next: Trust) =>
    call(rosterOperations.setAgent, { params: { agent }, body: LINES[next] }),
  );
  return (
    <>
      <Choice
        aria-label={`Trust of ${agent}`}
        value={trust}
        disabled={change.isPending}
        className="min-w-32"
        options={Object.keys(LINES)}
        onChange={(name) => change.mutate(trustNamed(name))}
      />
      <Failure error={change.error} />
    </>
  );
}

/** Reads a trust; anything else is `unknown`. */
export function trustNamed(name: string): Trust {
  return name === "standing" || name === "registered" ? name : "unknown";
}
