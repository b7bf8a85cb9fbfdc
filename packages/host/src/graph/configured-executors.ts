import { type readReference, withReferences } from "@reins/graph";
import { isRecord, readLimited } from "@reins/kit";
import { z } from "zod";
import type { ControlPoint } from "../control/control-point.ts";
import { enforce } from "../control/enforce.ts";
import { complete } from "../control/outcome.ts";
import type { ActionCall, PerformedAction, RunExecutor } from "./executor.ts";

/** Steps that the operator put together: each is a tool with its input, decided like any other call. */
export interface PipelineSettings {
  readonly description: string;
  readonly capabilities?: readonly string[] | undefined;
  readonly steps: readonly { readonly tool: string; readonly input: Readonly<Record<string, unknown>> }[];
}

/** A service that the operator lets graphs call. */
export interface ServiceSettings {
  readonly description: string;
  readonly capabilities?: readonly string[] | undefined;
  /** The address below which everything may be called. */
  readonly url: string;
  /** The methods that may be used; `GET` alone by default. */
  readonly methods?: readonly string[] | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Whether it makes one effect of requests with the same `Idempotency-Key`. */
  readonly idempotent?: boolean | undefined;
  readonly timeoutMs?: number | undefined;
  readonly maxBytes?: number | undefined;
}

/** The pipelines of an operator. A step may refer to the action's input by `{ "$ref": "input:<member>" }`. */
export function pipelineExecutors(
  pipelines: Readonly<Record<string, PipelineSettings>>,
  tools: readonly RunExecutor[],
): readonly RunExecutor[] {
  return Object.entries(pipelines).map(([name, { description, capabilities = [], steps }]) => ({
    ...{ name, type: "pipeline", description, ruleName: "graph/pipeline" },
    capabilities: [name, "pipeline", ...capabilities],
    check: () => undefined,
    async plan(call) {
      return {
        ...{ tool: "graph/pipeline", tools: "acp", kind: "other" },
        arguments: { pipeline: name, input: call.input ?? {} },
        perform(given, signal) {
          const allowed = AllowedPipeline.parse(given);
          if (allowed.pipeline !== name) throw new Error(`${name} was allowed as ${allowed.pipeline}`);
          return performSteps(steps, tools, { ...call, input: allowed.input }, signal);
        },
      };
    },
  }));
}

/** The arguments that a verdict allowed, which may be others than those that were asked for. */
const AllowedPipeline = z.looseObject({ pipeline: z.string(), input: z.record(z.string(), z.unknown()) });

async function performSteps(
  steps: PipelineSettings["steps"],
  tools: readonly RunExecutor[],
  call: ActionCall,
  signal: AbortSignal,
): Promise<PerformedAction> {
  const outputs: unknown[] = [];
  for (const [index, { tool, input }] of steps.entries()) {
    const executor = tools.find(({ name }) => name === tool);
    if (!executor) throw new Error(`step ${index + 1}: there is no tool ${tool}`);
    const given = await withReferences(input, async (reference) => memberOf(call, reference));
    const own = { ...call, input: isRecord(given) ? given : {}, call: `${call.call}/${index + 1}` };
    const performed = await performStep(executor, own, signal);
    outputs.push(performed.output);
    if (performed.isError) return { output: outputs, isError: true };
  }
  return { output: outputs };
}

function memberOf({ input = {} }: ActionCall, reference: ReturnType<typeof readReference>): unknown {
  if (reference.kind !== "input") throw new Error("a step refers to the action's input alone");
  const [name = ""] = reference.path;
  if (!Object.hasOwn(input, name)) throw new Error(`the input has no member ${name}`);
  return input[name];
}

async function performStep(
  executor: RunExecutor,
  call: ActionCall,
  signal: AbortSignal,
): Promise<PerformedAction> {
  const { action, place, run } = call;
  const planned = await executor.plan(call);
  const point: ControlPoint = {
    kind: "graph_action",
    tools: planned.tools,
    payload: {
      tool_name: planned.tool,
      arguments: planned.arguments,
      title: action.title,
      graph: {
        ...{ run_id: run, action_id: action.id, title: action.title },
        ...{ depends_on: action.dependsOn, executor: `tool:${executor.name}`, operation: action.operation },
      },
    },
    call: { id: call.call, reported: { title: action.title, rawInput: planned.arguments } },
  };
  const onAsk = () => call.waits("permission");
  const enforced = await enforce(place, point, { signal, onAsk });
  call.waits(undefined);
  if (enforced.kind === "refused") throw new Error(`${planned.tool} was refused: ${enforced.reason}`);
  const given = enforced.kind === "modified" ? enforced.arguments : planned.arguments;
  const end = (outcome: string) =>
    complete(place, {
      ...{ tool: planned.tool, entry: enforced.verdict.entry, outcome },
      enforcement: "performed",
    });
  try {
    const performed = await planned.perform(given, signal);
    await end(performed.isError ? "failed" : "completed");
    return performed;
  } catch (error) {
    await end("failed");
    throw error;
  }
}

const ServiceInput = z.strictObject({
  method: z.enum(["GET", "POST", "PUT", "PATCH", "DELETE"]).default("GET"),
  path: z.string().max(4_096).default(""),
  query: z.record(z.string(), z.string()).default({}),
  body: z.unknown().optional(),
});

const TIMEOUT_MS = 30_000;
const MAX_BYTES = 1 << 20;
const MOST_REDIRECTS = 5;

/** The services of an operator: HTTP below an address, and nowhere else. */
export function serviceExecutors(
  services: Readonly<Record<string, ServiceSettings>>,
): readonly RunExecutor[] {
  return Object.entries(services).map(([name, service]) => ({
    ...{ name, type: "service", description: service.description, ruleName: "graph/service" },
    capabilities: [name, "service", "http", ...(service.capabilities ?? [])],
    isIdempotent: service.idempotent ?? (service.methods ?? ["GET"]).every((method) => method === "GET"),
    check: (input) => void requestOf(service, input),
    async plan({ input = {}, key }) {
      const { method, url, body } = requestOf(service, input);
      return {
        ...{ tool: "graph/service", tools: "acp", kind: "fetch" },
        arguments: { service: name, method, url: url.href, ...(body !== undefined && { body }) },
        perform: async (given, signal) =>
          callService(service, { ...allowedRequest(service, given), key }, signal),
      };
    },
  }));
}

interface ServiceRequest {
  readonly method: string;
  readonly url: URL;
  readonly body: string | undefined;
}

function requestOf(service: ServiceSettings, input: Readonly<Record<string, unknown>>): ServiceRequest {
  const { method, path, query, body } = ServiceInput.parse(input);
  const base = service.url.endsWith("/") ? service.url : `${service.url}/`;
  const url = path === "" ? new URL(service.url) : new URL(path.replace(/^\/+/, ""), base);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return withinService(service, { method, url, body: body === undefined ? undefined : JSON.stringify(body) });
}

const AllowedRequest = z.looseObject({ method: z.string(), url: z.string(), body: z.string().optional() });

/** The request that a verdict allowed, which may be another than the one that was asked for. */
function allowedRequest(service: ServiceSettings, given: unknown): ServiceRequest {
  const { method, url, body } = AllowedRequest.parse(given);
  return withinService(service, { method, url: new URL(url), body });
}

/** A request, unless it is none that the service takes. */
function withinService(service: ServiceSettings, request: ServiceRequest): ServiceRequest {
  const { method, url } = request;
  const methods = service.methods ?? ["GET"];
  if (!methods.includes(method))
    throw new Error(`the service takes ${methods.join(", ")}, and not ${method}`);
  if (!isBelow(service, url)) throw new Error(`${url.href} is outside of the service`);
  return request;
}

function isBelow({ url }: ServiceSettings, asked: URL): boolean {
  const base = new URL(url);
  const folder = base.pathname.endsWith("/") ? base.pathname : `${base.pathname}/`;
  const isSame = asked.pathname === base.pathname || asked.pathname.startsWith(folder);
  const isPlain = asked.username === "" && asked.password === "" && !climbs(asked.pathname);
  return asked.origin === base.origin && isSame && isPlain;
}

/** Whether a server that decodes a path, as often as it likes, might take it for one that leads upwards. */
function climbs(path: string): boolean {
  const decoded = path.replace(/%(?:25)*2e/gi, ".").replace(/%(?:25)*(?:2f|5c)/gi, "/");
  return decoded.split(/[/\\]/).includes("..");
}

async function callService(
  service: ServiceSettings,
  request: ServiceRequest & { readonly key: string },
  signal: AbortSignal,
): Promise<PerformedAction> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(service.timeoutMs ?? TIMEOUT_MS)]);
  let { url, method, body } = request;
  for (let redirects = 0; ; redirects += 1) {
    const response = await fetch(url, {
      ...{ method, redirect: "manual", signal: limit },
      headers: {
        ...service.headers,
        ...(body !== undefined && { "content-type": "application/json" }),
        "idempotency-key": request.key,
      },
      ...(body !== undefined && { body }),
    });
    const location = response.headers.get("location");
    if (response.status < 300 || response.status >= 400 || location === null)
      return readResponse(response, service.maxBytes ?? MAX_BYTES);
    await response.body?.cancel();
    const next = new URL(location, url);
    if (!isBelow(service, next))
      throw new Error(`the service redirects to ${next.href}, which is outside of it`);
    if (redirects >= MOST_REDIRECTS) throw new Error("the service redirects without end");
    url = next;
    if (response.status === 303) [method, body] = ["GET", undefined];
  }
}

async function readResponse(response: Response, most: number): Promise<PerformedAction> {
  const text = await limitedText(response, most);
  const isJson = (response.headers.get("content-type") ?? "").includes("json");
  const output = { status: response.status, body: isJson ? parsed(text) : text };
  return { output, isError: response.status >= 400 };
}

async function limitedText({ body }: Response, most: number): Promise<string> {
  const read = body ? await readLimited(body, most) : Buffer.alloc(0);
  if (read) return read.toString("utf8");
  throw new Error(`the response is longer than ${most} bytes`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
