import { type Run, runOperations } from "@reins/api";
import { z } from "zod";
import { call } from "../../api/queries.ts";
import { words } from "../../design/format.ts";

/** One event of a run as the API lists it. */
export type RunEvent = z.infer<typeof runOperations.streamRuns.answer>;

const text = z.string().nullish();
const Lifecycle = z.looseObject({ status: z.string(), prompt: text, result_summary: text, error: text });
const Task = z.looseObject({ id: z.string().optional(), title: z.string(), status: z.string() });
const Tasks = z.looseObject({ tasks: z.array(Task) });
const Verification = z.looseObject({
  status: z.string(),
  checks: z.array(z.looseObject({ subject: z.string(), status: z.string(), message: text })).catch([]),
  residual_risks: z.array(z.string()).catch([]),
});

type Task = z.infer<typeof Task>;

/** The current state of a run, read from its newest contracts. */
export interface RunState {
  readonly name: string;
  readonly lifecycle: z.infer<typeof Lifecycle> | undefined;
  readonly tasks: readonly Task[];
  readonly verification: z.infer<typeof Verification> | undefined;
}

/** Reads the state of a run. A contract that does not parse is left out. */
export function runState(run: Run): RunState {
  const lifecycle = Lifecycle.safeParse(run.run_lifecycle).data;
  return {
    name: lifecycle?.prompt || lifecycle?.result_summary || `Run ${run.run_id.slice(0, 8)}`,
    lifecycle,
    tasks: Tasks.safeParse(run.task_list).data?.tasks ?? [],
    verification: Verification.safeParse(run.verification).data,
  };
}

/** One event of a run as a line of its history. */
export interface Transition {
  readonly seq: number;
  readonly at: string;
  readonly contract: RunEvent["contract"];
  /** The status that the event reports; none for a list of tasks. */
  readonly status: string | undefined;
  readonly changes: readonly string[];
  /** Why the event was rejected; it changed nothing then. */
  readonly fault: string | null;
}

/** Describes what each event of a run changed. Expects the events oldest first; rejected events change nothing. */
export function transitions(events: readonly RunEvent[]): readonly Transition[] {
  let status: string | undefined;
  let prompt: string | null | undefined;
  let tasks: readonly Task[] = [];
  return events.map((event) => {
    const { seq, at, contract, payload, fault } = event;
    const line = { seq, at, contract, fault };
    if (contract === "task_list") {
      const next = Tasks.safeParse(payload).data?.tasks ?? [];
      const changes = taskChanges(tasks, next);
      if (fault === null) tasks = next;
      return { ...line, status: undefined, changes };
    }
    if (contract === "verification") {
      const read = Verification.safeParse(payload).data;
      return { ...line, status: read?.status, changes: read ? checkTexts(read) : [] };
    }
    const read = Lifecycle.safeParse(payload).data;
    const isChange = fault === null && status !== undefined && read?.status !== status;
    const changes = [
      isChange && read ? `${words(status ?? "")} → ${words(read.status)}` : "",
      read?.prompt === prompt ? "" : read?.prompt,
      read?.error,
      read?.result_summary,
    ].flatMap((one) => one || []);
    prompt = read?.prompt ?? prompt;
    if (fault === null) status = read?.status ?? status;
    return { ...line, status: read?.status, changes };
  });
}

/** Fetches every kept event of a run, page by page. */
export async function fetchRunEvents(id: string, signal: AbortSignal): Promise<readonly RunEvent[]> {
  const events: RunEvent[] = [];
  let after: number | undefined;
  do {
    const page = await call(runOperations.listRunEvents, {
      params: { id },
      query: { limit: 500, ...(after !== undefined && { after }) },
      signal,
    });
    events.push(...page.events);
    after = page.next;
  } while (after !== undefined);
  return events;
}

function taskChanges(before: readonly Task[], after: readonly Task[]): readonly string[] {
  const known = new Map(before.map((task) => [taskKey(task), task]));
  const kept = new Set(after.map(taskKey));
  return [
    ...after.flatMap((task) => {
      const was = known.get(taskKey(task));
      if (!was) return [`added ${task.title} (${words(task.status)})`];
      return was.status === task.status
        ? []
        : [`${task.title}: ${words(was.status)} → ${words(task.status)}`];
    }),
    ...before.filter((task) => !kept.has(taskKey(task))).map(({ title }) => `removed ${title}`),
  ];
}

function taskKey({ id, title }: Task): string {
  return id ?? title;
}

function checkTexts({ checks, residual_risks }: z.infer<typeof Verification>): readonly string[] {
  return [
    ...checks.map(
      ({ subject, status, message }) => `${subject}: ${words(status)}${message ? ` (${message})` : ""}`,
    ),
    ...residual_risks.map((risk) => `residual risk: ${risk}`),
  ];
}
