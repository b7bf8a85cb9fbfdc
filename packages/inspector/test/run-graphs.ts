import type { Run, RunAction, RunGraph } from "@reins/api";

const AT = "2026-01-01T00:00:00.000Z";
const CID = "c".repeat(64);

/** A pending action of a tool. */
export function anAction(id: string, more: Partial<RunAction> = {}): RunAction {
  return {
    id,
    title: `Do ${id}`,
    executor: { type: "tool", target: "run_command", capabilities: ["shell"] },
    depends_on: [],
    visible: true,
    status: "pending",
    attempts: 0,
    iterations: 0,
    ...more,
  };
}

/** A running graph of the given actions, with their progress. */
export function aRunGraph(actions: readonly RunAction[], more: Partial<RunGraph> = {}): RunGraph {
  const counted = (...statuses: readonly string[]) =>
    actions.filter(({ status }) => statuses.includes(status)).length;
  return {
    run_id: "run_frogs",
    session_id: "pond",
    title: "Count the frogs",
    status: "running",
    plan: false,
    durable: true,
    started_at: AT,
    progress: {
      total: actions.length,
      ended: counted("completed", "failed", "canceled", "blocked"),
      running: counted("running"),
    },
    actions: [...actions],
    declaration: '{"version": "0.1", "intent": "execute"}',
    carrier: "native",
    violations: [],
    controls: [],
    ...more,
  };
}

/** The run of a graph, as the list of runs has it. */
export function runOf({ run_id, session_id, title, status }: RunGraph): Run {
  const contract = { run_id, session_id, updated_at: AT };
  return {
    ...contract,
    has_graph: true,
    run_lifecycle: { ...contract, status: status === "running" ? "executing" : status, prompt: title },
  };
}

const took = { attempts: 1, iterations: 1, started_at: AT, ended_at: "2026-01-01T00:00:02.400Z" };
const begun = { attempts: 1, iterations: 1, started_at: AT };

/** A graph with an action of every status and of every kind of executor. */
export function everyStatus(): RunGraph {
  return aRunGraph(
    [
      anAction("find", {
        title: "Find the ponds",
        description: "Lists every pond of the map.",
        reason: "The count needs to know where to look.",
        operation: "search",
        status: "completed",
        ...took,
        input: { pattern: "**/*.pond", limit: 100 },
        result_summary: "Found 3 ponds: north, south and the one behind the mill.",
        details_ref: "artifact://run_frogs/find",
        artifacts: [{ ref: "artifact://run_frogs/map", name: "map.txt" }],
        verdict: CID,
      }),
      anAction("north", {
        title: "Count the frogs of the north pond",
        depends_on: ["find"],
        executor: { type: "agent", target: "claude", capabilities: ["count"] },
        status: "running",
        ...begun,
        prompt: "Count the frogs of the north pond.\n\n- green ones\n- brown ones",
        child_session: "a".repeat(64),
        verdict: CID,
      }),
      anAction("south", {
        title: "Count the frogs of the south pond",
        depends_on: ["find"],
        status: "failed",
        status_reason: "The pond is frozen.",
        ...took,
        attempts: 3,
        verdict: CID,
      }),
      anAction("mill", {
        title: "Ask the miller",
        depends_on: ["find"],
        executor: { type: "human", target: "ask_user", capabilities: [] },
        status: "waiting",
        status_reason: "A person must allow it.",
        ...begun,
        approval: "approval-1",
      }),
      anAction("weather", {
        title: "Fetch the weather",
        executor: { type: "service", target: "weather.test", capabilities: [] },
        status: "blocked",
        status_reason: "No rule allows this host.",
        ...took,
        verdict: CID,
      }),
      anAction("clean", {
        title: "Clean the data",
        depends_on: ["south"],
        executor: { type: "pipeline", target: "clean", capabilities: [] },
        status: "canceled",
        status_reason: "Count the frogs of the south pond failed.",
      }),
      anAction("note", {
        title: "A step that the declaration hides",
        depends_on: ["north"],
        visible: false,
        executor: { type: "runtime", target: "merge", capabilities: [] },
      }),
      anAction("sum", {
        title: "Sum up",
        depends_on: ["note", "mill", "clean"],
        executor: { type: "runtime", target: "summarize", capabilities: [] },
      }),
    ],
    {
      note: "I count the frogs of all ponds **in parallel** and sum them up.\n\n- the north pond takes longest",
      status: "running",
      violations: ["A direct call of read_file beside the declaration was not executed."],
    },
  );
}

/** A graph of layers, each action after two of the layer before. */
export function layeredGraph(total: number, width: number): RunGraph {
  const actions = Array.from({ length: total }, (_, index) => {
    const layer = Math.floor(index / width);
    const before = (offset: number) => `a${(layer - 1) * width + ((index * 7 + offset) % width)}`;
    return anAction(`a${index}`, {
      title: `Action ${index} of layer ${layer}`,
      depends_on: layer === 0 ? [] : [...new Set([before(0), before(3)])],
      ...(layer === 0 && { status: "completed", ...took }),
      ...(layer === 1 && { status: "running", ...begun }),
    });
  });
  return aRunGraph(actions);
}

/** Texts that try to mislead a reader or to break the page. */
const HOSTILE = {
  title: `<img src=x onerror=alert(1)> \u202egnp.exe\u0007 ${"very long ".repeat(400)}`,
  note: "# Approved\n\n<script>alert(1)</script> [click](javascript:alert(1)) ![x](https://evil.test/x.png) \u202eabc",
} as const;

/** What must be in no page that shows them. */
export const HARMFUL = [
  "<img",
  "<script",
  'href="javascript',
  "\u0000",
  "\u0007",
  "\u200b",
  "\u202e",
] as const;

/** A graph whose texts are hostile. */
export function hostileGraph(): RunGraph {
  const texts = { title: HOSTILE.title, status_reason: HOSTILE.title, reason: HOSTILE.note };
  return aRunGraph(
    [
      anAction("constructor", {
        ...texts,
        status: "failed",
        description: HOSTILE.note,
        prompt: HOSTILE.note,
      }),
      anAction("b", {
        ...texts,
        depends_on: ["constructor", "nowhere"],
        executor: { type: "tool", target: "\u202erm".repeat(100), capabilities: ["\u0000"] },
        result_summary: `${HOSTILE.note}${"x".repeat(5_000)}`,
        input: { "\u200b": HOSTILE.title },
      }),
    ],
    {
      title: HOSTILE.title,
      note: HOSTILE.note,
      status: "failed",
      status_reason: HOSTILE.title,
      declaration: HOSTILE.note,
      violations: [HOSTILE.title],
    },
  );
}
