import { type SessionTool, type SessionTools, toolOperations } from "@reins/api";
import { useState } from "react";
import { useGet } from "../../api/queries.ts";
import { Badge, type Tone } from "../../design/badge.tsx";
import { Choice, TextInput } from "../../design/form.tsx";
import { visible } from "../../design/format.ts";
import { Page, Panel } from "../../design/layout.tsx";
import { Empty, Loaded } from "../../design/states.tsx";
import { Table } from "../../design/table.tsx";
import { sessionTitle, useSessions } from "../sessions/sessions.ts";

const STATES = [
  ["all", "All"],
  ["loaded", "Loaded"],
  ["promoted", "Promoted"],
  ["deferred", "Deferred"],
] as const;

const TONES: Readonly<Record<SessionTool["state"], readonly [Tone, string]>> = {
  loaded: ["neutral", "in every prompt"],
  promoted: ["good", "a search found it; it is in the prompt until others need its room"],
  deferred: ["note", "stays out of the prompt until a search finds it"],
};

/** The tools of a session: by source, deferred or promoted, and found as the model finds them. */
export function ToolsPage() {
  const sessions = useSessions();
  const native = (sessions.data?.sessions ?? []).filter(({ agent, ended }) => agent === "native" && !ended);
  const [chosen, setChosen] = useState("");
  const session = native.find(({ id }) => id === chosen) ?? native[0];
  return (
    <Page
      title="Tools"
      about="What the native agent can call. When there are many tools, most are deferred: they stay out of the prompt until the model searches for them."
    >
      <Loaded query={sessions} what="Loading sessions">
        {() =>
          session ? (
            <>
              <div className="flex">
                <Choice
                  aria-label="Session"
                  className="max-w-96"
                  value={session.id}
                  options={native.map((one) => [one.id, sessionTitle(one)] as const)}
                  onChange={setChosen}
                />
              </div>
              <SessionToolsPanel key={session.id} id={session.id} />
            </>
          ) : (
            <Panel>
              <Empty title="No session of the native agent">
                Start a session with the agent native; its tools and those of its MCP servers are listed here.
              </Empty>
            </Panel>
          )
        }
      </Loaded>
    </Page>
  );
}

function SessionToolsPanel({ id }: { id: string }) {
  const [query, setQuery] = useState("");
  const [state, setState] = useState<ToolFilter>("all");
  const words = query.trim();
  const tools = useGet(["tools", id, words], toolOperations.listSessionTools, {
    params: { id },
    ...(words === "" ? { query: {}, everyMs: 5_000 } : { query: { query: words } }),
  });
  return (
    <>
      <div className="flex flex-wrap gap-2">
        <TextInput
          aria-label="Search tools"
          placeholder="What should the tool do?"
          className="max-w-96"
          value={query}
          onChange={setQuery}
        />
        <Choice
          aria-label="Which tools"
          className="max-w-40"
          value={state}
          options={STATES}
          onChange={(value) => setState(STATES.find(([one]) => one === value)?.[0] ?? "all")}
        />
      </div>
      <Loaded query={tools} what="Loading tools">
        {(found) => (
          <>
            <Summary found={found} />
            {words === "" && <Sources found={found} />}
            <Panel>
              <ToolTable tools={toolsIn(found.tools, state)} isSearch={words !== ""} />
            </Panel>
          </>
        )}
      </Loaded>
    </>
  );
}

function Summary({ found: { total, counts, diagnostic } }: { found: SessionTools }) {
  return (
    <p className="text-sm text-ink-soft">
      {total} tools: {counts.loaded} loaded, {counts.promoted} promoted, {counts.deferred} deferred
      {diagnostic !== undefined && <span className="block text-warn">{visible(diagnostic)}</span>}
    </p>
  );
}

function Sources({ found }: { found: SessionTools }) {
  return (
    <Panel title="By source">
      <Table
        label="Sources"
        rows={sourcesOf(found.tools)}
        keyOf={({ source }) => source}
        columns={[
          { title: "Source", cell: ({ source }) => visible(source) },
          { title: "Tools", isNumber: true, cell: ({ tools }) => tools },
          { title: "Promoted", isNumber: true, cell: ({ promoted }) => promoted },
          { title: "Deferred", isNumber: true, cell: ({ deferred }) => deferred },
          { title: "Tokens", isNumber: true, cell: ({ tokens }) => tokens },
        ]}
      />
    </Panel>
  );
}

function ToolTable({ tools, isSearch }: { tools: readonly SessionTool[]; isSearch: boolean }) {
  return (
    <Table
      label="Tools"
      rows={tools}
      keyOf={({ name }) => name}
      empty={<Empty title="No matching tools">Try other words, or another filter.</Empty>}
      columns={[
        {
          title: "Tool",
          cell: ({ name, description }) => (
            <>
              <span className="font-mono text-xs font-medium">{visible(name)}</span>
              <span className="block max-w-160 text-2xs text-ink-faint">
                {visible(shortened(description))}
              </span>
            </>
          ),
        },
        { title: "Source", cell: ({ source }) => visible(source ?? "agent") },
        { title: "State", cell: ({ state }) => <StateBadge state={state} /> },
        isSearch
          ? { title: "Why", cell: ({ why = "" }) => <span className="text-2xs">{visible(why)}</span> }
          : { title: "Tokens", isNumber: true, cell: ({ tokens }) => tokens },
      ]}
    />
  );
}

function StateBadge({ state }: { state: SessionTool["state"] }) {
  const [tone, title] = TONES[state];
  return (
    <Badge tone={tone} title={title}>
      {state}
    </Badge>
  );
}

/** Which tools are listed. */
export type ToolFilter = "all" | SessionTool["state"];

/** The tools of a source in numbers. */
export interface SourceCount {
  readonly source: string;
  readonly tools: number;
  readonly promoted: number;
  readonly deferred: number;
  /** What all of them would take in a prompt. */
  readonly tokens: number;
}

/** Counts tools by source, the agent's own first, then the largest. */
export function sourcesOf(tools: readonly SessionTool[]): readonly SourceCount[] {
  const groups = [...Map.groupBy(tools, ({ source = "agent" }) => source)].map(([source, all]) => ({
    source,
    tools: all.length,
    promoted: all.filter(({ state }) => state === "promoted").length,
    deferred: all.filter(({ state }) => state === "deferred").length,
    tokens: all.reduce((sum, { tokens }) => sum + tokens, 0),
  }));
  return groups.toSorted(
    (left, right) =>
      Number(right.source === "agent") - Number(left.source === "agent") || right.tools - left.tools,
  );
}

/** The tools in a state, in their order. */
export function toolsIn(tools: readonly SessionTool[], filter: ToolFilter): readonly SessionTool[] {
  return filter === "all" ? tools : tools.filter(({ state }) => state === filter);
}

const MAX_DESCRIPTION = 200;

/** The beginning of a description. */
export function shortened(description: string): string {
  return description.length > MAX_DESCRIPTION ? `${description.slice(0, MAX_DESCRIPTION)} …` : description;
}
