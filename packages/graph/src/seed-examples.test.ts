import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { CONTEXT, message, native } from "../test/messages.ts";
import { readCarried, readDeclared } from "./declaration/carrier.ts";
import { ActionDeclaration, type ProtocolDeclaration } from "./declaration/grammar.ts";
import { type Graph, graphOfCalls, graphOfDeclaration } from "./declaration/graph.ts";
import { readMarkdown } from "./declaration/markdown.ts";
import { JournalEngine } from "./engine/journal-engine.ts";
import { registryView } from "./run/executors.ts";
import { runGraph } from "./run/schedule.ts";
import type { RunResult } from "./run/schedule-ports.ts";
import { resultRecord } from "./view/result-record.ts";
import { nodeRequest, transcript } from "./view/transcript.ts";

/** Every example of the specification, as it is written there. */
const page = readFileSync(new URL("../test/seed-examples.md", import.meta.url), "utf8");
const examples = [...page.matchAll(/^`{5}text (\w+)\n(.*?)\n`{5}$/gms)].map(([, kind = "", text = ""]) => ({
  kind,
  text,
}));
const of = (kind: string) => examples.filter((one) => one.kind === kind).map(({ text }) => [text] as const);

/** Runs a graph in which every action completes with a summary. */
async function run(graph: Graph, summaries: Readonly<Record<string, string>> = {}): Promise<RunResult> {
  const engine = new JournalEngine<null, RunResult>({
    orchestrate: (_, scope) =>
      runGraph(graph, scope, {
        parallel: 4,
        writesOf: () => [],
        attempt: async ({ action: { id } }) => ({
          kind: "completed",
          output: `${summaries[id]} In full.`,
          summary: summaries[id] ?? id,
        }),
      }),
  });
  await engine.start("run", null);
  return engine.ended("run");
}

function graphIn(text: string): Graph {
  const carried = readCarried(message(text), CONTEXT);
  if (carried.kind !== "declaration") throw new Error("it declares nothing");
  return graphOfDeclaration(carried.declaration as Executed, carried.sections);
}

type Executed = Extract<ProtocolDeclaration, { intent: "execute" }>;

describe("The examples of the specification", () => {
  it("are all there", () => {
    expect(
      Object.fromEntries(
        [...Map.groupBy(examples, ({ kind }) => kind)].map(([kind, all]) => [kind, all.length]),
      ),
    ).toEqual({
      fragment: 7,
      carrier: 5,
      message: 2,
      record: 1,
      declaration: 3,
      registry: 1,
      transcript: 2,
      request: 1,
    });
  });

  it.each(of("carrier"))("run as written by the carrier: %s", async (text) => {
    const carried = readCarried(native(text), CONTEXT);
    if (carried.kind === "calls")
      expect(await run(graphOfCalls(carried.output))).toMatchObject({ status: "completed" });
    else expect(carried).toMatchObject({ kind: JSON.parse(text).kind, message: JSON.parse(text).message });
  });

  it.each(of("message"))("run as written in a message: %s", async (text) => {
    const graph = graphIn(text);
    expect(graph.title).toBe("Toolbar Button Review");
    expect(await run(graph)).toMatchObject({
      status: "completed",
      actions: graph.actions.map(({ id }) => ({ id })),
    });
  });

  it.each(of("declaration"))("run as written as a declaration: %s", async (text) => {
    const declared = readDeclared(JSON.parse(text));
    expect(declared).toMatchObject({ intent: JSON.parse(text).intent });
    if (declared.intent === "execute")
      expect(await run(graphOfDeclaration(declared, []))).toMatchObject({ status: "completed" });
  });

  it.each(of("fragment"))("fit an action as fragments: %s", async (text) => {
    const sections = readMarkdown(
      "## review_toolbar.prompt\n\nReview.\n\n## shared.context\n\nContext.",
    ).sections;
    const fragment = JSON.parse(text);
    const actions = [
      ...(fragment.id === "inspect_code" ? [] : [{ id: "inspect_code" }]),
      { id: "fragment", ...fragment },
    ];
    expect(ActionDeclaration.safeParse(actions.at(-1)).success).toBe(true);
    const declared = readDeclared({
      type: "agent.protocol",
      version: "1",
      intent: "execute",
      payload: { actions },
    });
    expect(await run(graphOfDeclaration(declared as Executed, sections))).toMatchObject({
      status: "completed",
    });
  });

  it.each(of("registry"))("show the registry: %s", (text) => {
    const { executors } = JSON.parse(text);
    const known = executors.map(({ can_execute, ...one }: { can_execute?: boolean }) => ({
      ...one,
      ...(can_execute !== undefined && { canExecute: can_execute }),
    }));
    expect(registryView(known)).toEqual({ executors });
  });

  const SUMMARIES = {
    inspect_code:
      "Found Toolbar.vue, ToolbarButton.vue, toolbarConfig.ts, useToolbar.ts, useEditor.ts, and related tests.",
    review_toolbar:
      "Found two issues: undo/redo state is not wired through, and the table dropdown can be hidden by a higher layer.",
  };

  it("show what was observed of the full form, to the letter", async () => {
    const declared = of("message")[0]?.[0] ?? "";
    const graph = graphIn(declared);
    const { status, actions: states } = await run(graph, SUMMARIES);
    const carried = readCarried(message(declared), CONTEXT);
    const declaration = "raw" in carried ? carried.raw : "";
    const turn = {
      kind: "run" as const,
      run: "run_123",
      status,
      states,
      declaration,
      graph,
      isCarrier: false,
    };
    const text = transcript([{ kind: "user", text: "Review." }, turn], { maxTokens: 1_000 });
    const shown = `### Declaration\n\n\`\`\`\`md\n${declared.trim()}\n\`\`\`\`\n\n`;
    expect(text).toContain(shown);
    expect(text.replace(shown, "")).toContain(of("transcript")[1]?.[0]);
  });

  it("show what was observed of the carrier, to the letter", async () => {
    const [text = ""] = of("transcript")[0] ?? [];
    const request = /## User request\n\n(.*?)\n<\/turn>/s.exec(text)?.[1] ?? "";
    const graph = graphOfCalls({
      kind: "act",
      message: "Inspect extension wiring",
      calls: [
        {
          id: "read_extension",
          type: "tool",
          name: "read",
          args: { filePath: "src/extension/extension.ts" },
          result: "summary",
        },
      ],
    });
    const summary = "extension.ts registers the custom editor provider and command handlers.";
    const { status, actions: states } = await run(graph, { read_extension: summary });
    const turn = {
      ...{ kind: "run" as const, run: "apr_abc123", status, states, declaration: "" },
      graph,
      isCarrier: true,
    };
    expect(transcript([{ kind: "user", text: request }, turn], { maxTokens: 1_000 })).toBe(text);
  });

  it("have the machine record, but for descriptions that differ there", async () => {
    const graph = graphIn(of("message")[0]?.[0] ?? "");
    const { status, actions } = await run(graph, SUMMARIES);
    const states = new Map(actions.map((state) => [state.id, state]));
    const { actions: recorded, ...record } = JSON.parse(of("record")[0]?.[0] ?? "");
    expect(resultRecord({ run: "run_123", graph, status, states })).toMatchObject({
      ...record,
      actions: recorded.map(({ description: _, ...action }: { description: string }) => action),
    });
  });

  it("have the request to an executing agent", () => {
    const context = ["Expanded shared context.", "Expanded inspect_code summary."];
    const text = nodeRequest(
      { run: "run_123", action: "review_toolbar" },
      { context, task: "Expanded review_toolbar prompt." },
    );
    expect([[text]]).toEqual(of("request"));
  });
});
