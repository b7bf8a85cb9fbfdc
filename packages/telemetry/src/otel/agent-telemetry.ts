import {
  type Attributes,
  type Context,
  type Counter,
  type Histogram,
  type Meter,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { isRecord } from "@reins/kit";
import type {
  Approval,
  Decided,
  DecisionRequest,
  EndedTurn,
  SettledCall,
  StartedTurn,
  SupervisorObserver,
  Usage,
} from "@reins/supervisor";
import {
  CHAT,
  cleaned,
  continued,
  DECISION_BOUNDS,
  DURATION_BOUNDS,
  EXECUTE_TOOL,
  INVOKE_AGENT,
  inputOf,
  present,
  type RequestedModel,
  requestedModel,
  TOKEN_BOUNDS,
  tokenAttributes,
  WAIT_BOUNDS,
} from "./conventions.ts";

/** The most turns, calls and questions that are followed at once; of more, the oldest ends unknown. */
const MOST_OPEN = 4_096;
const SECOND = 1_000;

/** What telemetry is made with. */
export interface AgentTelemetryOptions {
  readonly tracer: Tracer;
  readonly meter: Meter;
  /** Removes secrets from a text. */
  readonly redact: (text: string) => unknown;
  /** Milliseconds since 1970, with fractions. */
  readonly now: () => number;
}

interface OpenTurn {
  readonly span: Span;
  readonly context: Context;
  readonly session: string;
  readonly began: number;
  readonly about: Attributes;
  /** What is under way in it: entries of verdicts, and ids of approvals. */
  readonly operations: Set<string>;
  readonly questions: Set<string>;
  /** Whether its requests to models are known one by one, with their tokens. */
  hasRequests: boolean;
}

interface OpenOperation {
  readonly span: Span;
  readonly turn: string | undefined;
  readonly began: number;
  /** The attributes of its metrics. */
  readonly about: Attributes;
  /** Of a request to a model: whether the agent itself asked for it, or the gateway saw a call. */
  readonly request?: RequestedModel["by"];
}

interface Question {
  readonly turn: string | undefined;
  readonly began: number;
  readonly attributes: Attributes;
  answer: Attributes;
}

/**
 * Makes traces and metrics by the GenAI conventions out of what a supervisor reports: a span per turn, and below it one
 * per verdict, request to a model and tool call. Contents, arguments and reasons are in none of them.
 */
export class AgentTelemetry implements SupervisorObserver {
  readonly #tracer: Tracer;
  readonly #redact: (text: string) => unknown;
  readonly #now: () => number;
  readonly #turns = new Map<string, OpenTurn>();
  /** Requests to models and tool calls, by the entry of their verdict. */
  readonly #operations = new Map<string, OpenOperation>();
  /** What people are asked, by the id of the approval. */
  readonly #questions = new Map<string, Question>();
  readonly #tokens: Histogram;
  readonly #durations: Histogram;
  readonly #verdicts: Counter;
  readonly #decisions: Histogram;
  readonly #waits: Histogram;

  constructor({ tracer, meter, redact, now }: AgentTelemetryOptions) {
    this.#tracer = tracer;
    this.#redact = redact;
    this.#now = now;
    const histogram = (name: string, unit: string, description: string, bounds: number[]) =>
      meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries: bounds } });
    this.#tokens = histogram(
      "gen_ai.client.token.usage",
      "{token}",
      "Tokens of requests to models",
      TOKEN_BOUNDS,
    );
    this.#durations = histogram(
      "gen_ai.client.operation.duration",
      "s",
      "Time of operations",
      DURATION_BOUNDS,
    );
    this.#decisions = histogram(
      "reins.decision.duration",
      "s",
      "Time of decisions, without people",
      DECISION_BOUNDS,
    );
    this.#waits = histogram("reins.approval.wait", "s", "Time until people answered", WAIT_BOUNDS);
    this.#verdicts = meter.createCounter("reins.verdicts", { unit: "{verdict}", description: "Verdicts" });
  }

  readonly turnStarted = ({ id, session, parent, agent, meta }: StartedTurn): void => {
    const began = this.#now();
    const about = this.#clean({ ...INVOKE_AGENT, "gen_ai.agent.name": agent });
    const attributes = {
      ...about,
      ...this.#clean({ "gen_ai.conversation.id": session, "reins.turn.id": id }),
    };
    const from = continued(meta, this.#redact) ?? this.#contextIn(parent);
    const options = { kind: SpanKind.INTERNAL, startTime: began, attributes };
    const span = this.#tracer.startSpan(`invoke_agent ${about["gen_ai.agent.name"]}`, options, from);
    const context = trace.setSpan(from, span);
    const open = { operations: new Set<string>(), questions: new Set<string>() };
    this.#turns.set(id, { span, context, session, began, about, ...open, hasRequests: false });
    endOldest(this.#turns, (oldest) => this.#endTurn(oldest, {}));
  };

  readonly turnEnded = (usage: Partial<Usage>, ended?: EndedTurn): void => {
    const turn = ended && this.#turns.get(ended.id);
    if (!turn) return;
    const { input_tokens: input, output_tokens: output } = ended.tokens;
    const cached = { read: ended.tokens.cached_read_tokens, write: ended.tokens.cached_write_tokens };
    const inputTokens = input === undefined ? undefined : input + (cached.read ?? 0) + (cached.write ?? 0);
    if (!turn.hasRequests) this.#countTokens(turn.about, inputTokens, output);
    this.#endTurn(ended.id, {
      ...present("gen_ai.usage.input_tokens", inputTokens),
      ...present("gen_ai.usage.output_tokens", output),
      ...present("reins.usage.tokens", usage.tokens),
      ...present("reins.usage.cost", usage.cost),
      "reins.stop_reason": ended.stop_reason,
    });
  };

  readonly decided = (decided: Decided, ms: number, request: DecisionRequest): void => {
    const { verdict, enforcement, approval, rule, entry } = decided;
    const { event, subject, requestContext } = request;
    const outcome = { "reins.verdict": verdict, "reins.enforcement": enforcement };
    this.#verdicts.add(1, outcome);
    this.#decisions.record(ms / SECOND);
    const at = this.#now();
    const { turn } = requestContext;
    const payload = isRecord(event.payload) ? event.payload : {};
    const about = this.#clean({
      "gen_ai.conversation.id": subject.session,
      "gen_ai.agent.name": subject.agent,
      ...present("gen_ai.tool.name", payload.tool_name),
    });
    const attributes = {
      ...about,
      ...this.#clean({
        "reins.event_type": event.event_type,
        "reins.tenant": subject.tenant,
        ...outcome,
        ...present("reins.rule", rule),
        ...present("reins.ledger.entry", entry),
        ...present("reins.approval.id", approval),
      }),
    };
    if (verdict === "ask") {
      const asked = this.#questions.get(decided.approval)?.began ?? at - ms;
      this.#questions.set(decided.approval, { turn, began: asked, attributes, answer: {} });
      this.#turnOf(turn)?.questions.add(decided.approval);
      endOldest(this.#questions, (oldest) => this.#endQuestion(oldest));
      return;
    }
    const question = approval === undefined ? undefined : this.#takeQuestion(approval);
    const began = question?.began ?? at - ms;
    this.#decisionSpan({ turn, began, attributes, answer: question?.answer ?? {} }, at);
    if (event.event_type === "post_action") this.#doneSpan({ turn, at, about, enforcement });
    if (entry === undefined || (verdict !== "allowed" && verdict !== "modify")) return;
    const model = event.event_type === "pre_prompt" ? requestedModel(payload) : undefined;
    if (model) this.#startRequest(entry, { turn, at, about }, model);
    if (event.event_type === "pre_action") this.#startCall(entry, { turn, at, about, enforcement });
  };

  readonly settled = ({ call, end: { outcome, tokens, event_type }, usage }: SettledCall): void => {
    const operation = call && this.#operations.get(call.entry);
    if (event_type === "pre_prompt" && tokens) {
      const turn = this.#turnOf(operation?.turn);
      if (turn) turn.hasRequests = true;
      this.#countTokens(operation?.about ?? CHAT, inputOf(tokens), tokens.outputTokens);
    }
    if (!operation) return;
    this.#endOperation(call.entry, {
      ...tokenAttributes(tokens),
      // A cost that is not known counts as none.
      ...(operation.request && present("reins.usage.cost", usage.cost || undefined)),
      ...present("reins.outcome", outcome),
    });
  };

  /** Notes what became of an approval. Its span ends here where no verdict follows. */
  readonly answered = (at: string, { id, state, created_at }: Approval): void => {
    // A used one is that of a verdict, which ends its span.
    if (state === "pending" || state === "used") return;
    const waited = Math.max(0, Date.parse(at) - Date.parse(created_at));
    const isAnswered = state === "approved" || state === "denied";
    if (isAnswered) this.#waits.record(waited / SECOND, { "reins.approval.state": state });
    const question = this.#questions.get(id);
    if (!question) return;
    question.answer = { "reins.approval.state": state, "reins.approval.wait_ms": waited };
    if (isAnswered && question.turn !== undefined) return;
    this.#endQuestion(id, isAnswered ? {} : { "reins.verdict": "blocked" });
  };

  /** Ends all spans that are open. */
  close(): void {
    for (const id of this.#turns.keys()) this.#endTurn(id, { "reins.stop_reason": "interrupted" });
    for (const entry of this.#operations.keys()) this.#endOperation(entry);
    for (const id of this.#questions.keys()) this.#endQuestion(id);
  }

  #startRequest(entry: string, { turn, at: began, about }: At, requested: RequestedModel): void {
    const { provider, model, maxTokens, by } = requested;
    const named = this.#clean({ "gen_ai.provider.name": provider, "gen_ai.request.model": model });
    const metered = { ...CHAT, ...named };
    const { "gen_ai.tool.name": _, ...from } = about;
    const attributes = { ...from, ...metered, ...present("gen_ai.request.max_tokens", maxTokens) };
    const span = this.#tracer.startSpan(
      `chat ${named["gen_ai.request.model"]}`,
      { kind: SpanKind.CLIENT, startTime: began, attributes },
      by === "gateway" ? this.#contextOfCall(turn) : this.#contextOf(turn),
    );
    this.#follow(entry, { span, turn, began, about: metered, request: by });
  }

  /** Where a call through the gateway belongs: to the agent's own request, where that is known, else to the turn. */
  #contextOfCall(turn: string | undefined): Context {
    const context = this.#contextOf(turn);
    for (const entry of this.#turnOf(turn)?.operations ?? []) {
      const { request, span } = this.#operations.get(entry) ?? {};
      if (request === "agent" && span) return trace.setSpan(context, span);
    }
    return context;
  }

  #startCall(entry: string, at: Called): void {
    this.#follow(entry, { span: this.#callSpan(at), turn: at.turn, began: at.at, about: EXECUTE_TOOL });
  }

  #follow(entry: string, operation: OpenOperation): void {
    this.#operations.set(entry, operation);
    this.#turnOf(operation.turn)?.operations.add(entry);
    endOldest(this.#operations, (oldest) => this.#endOperation(oldest));
  }

  /** A call that was done before its verdict, of which no time is known. */
  #doneSpan(at: Called): void {
    this.#callSpan(at).end(at.at);
  }

  #callSpan({ turn, at: startTime, about, enforcement }: Called): Span {
    const attributes = { ...about, ...EXECUTE_TOOL, "reins.enforcement": enforcement };
    const options = { kind: SpanKind.INTERNAL, startTime, attributes };
    return this.#tracer.startSpan(
      `execute_tool ${about["gen_ai.tool.name"] ?? "unknown"}`,
      options,
      this.#contextOf(turn),
    );
  }

  #decisionSpan({ turn, began, attributes, answer }: Question, at: number): void {
    const options = { startTime: began, attributes: { ...attributes, ...answer } };
    this.#tracer
      .startSpan(`decide ${attributes["reins.event_type"]}`, options, this.#contextOf(turn))
      .end(at);
  }

  #endQuestion(id: string, more: Attributes = {}): void {
    const question = this.#takeQuestion(id);
    if (!question) return;
    this.#decisionSpan({ ...question, answer: { ...question.answer, ...more } }, this.#now());
  }

  #takeQuestion(id: string): Question | undefined {
    const question = this.#questions.get(id);
    this.#questions.delete(id);
    this.#turnOf(question?.turn)?.questions.delete(id);
    return question;
  }

  #endOperation(entry: string, attributes: Attributes = { "reins.outcome": "unknown" }): void {
    const operation = this.#operations.get(entry);
    if (!operation) return;
    this.#operations.delete(entry);
    this.#turnOf(operation.turn)?.operations.delete(entry);
    const { span, began, about } = operation;
    this.#end(
      span,
      began,
      about,
      attributes,
      FAILURES.find((failure) => failure === attributes["reins.outcome"]),
    );
  }

  #endTurn(id: string, attributes: Attributes): void {
    const turn = this.#turns.get(id);
    if (!turn) return;
    // What is still under way then has no outcome that belongs to the turn.
    for (const entry of turn.operations) this.#endOperation(entry);
    for (const approval of turn.questions) this.#endQuestion(approval);
    this.#turns.delete(id);
    const { span, began, about } = turn;
    const stop = attributes["reins.stop_reason"];
    const error = stop === "error" || stop === "interrupted" ? stop : undefined;
    this.#end(span, began, about, this.#clean(attributes), error);
  }

  #end(
    span: Span,
    began: number,
    about: Attributes,
    attributes: Attributes,
    error: string | undefined,
  ): void {
    const at = this.#now();
    const failure = present("error.type", error);
    if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
    span.setAttributes({ ...attributes, ...failure }).end(at);
    this.#durations.record((at - began) / SECOND, { ...about, ...failure });
  }

  #countTokens(about: Attributes, input: number | undefined, output: number | undefined): void {
    if (input !== undefined) this.#tokens.record(input, { ...about, "gen_ai.token.type": "input" });
    if (output !== undefined) this.#tokens.record(output, { ...about, "gen_ai.token.type": "output" });
  }

  #turnOf(id: string | undefined): OpenTurn | undefined {
    return id === undefined ? undefined : this.#turns.get(id);
  }

  #contextOf(turn: string | undefined): Context {
    return this.#turnOf(turn)?.context ?? ROOT_CONTEXT;
  }

  /** The turn of a session, under which a session that it started works. */
  #contextIn(session: string | undefined): Context {
    if (session === undefined) return ROOT_CONTEXT;
    for (const [, turn] of this.#turns) if (turn.session === session) return turn.context;
    return ROOT_CONTEXT;
  }

  #clean(attributes: Attributes): Attributes {
    return cleaned(attributes, this.#redact);
  }
}

/** Outcomes that are errors. */
const FAILURES = ["failed", "broken"];

interface At {
  readonly turn: string | undefined;
  readonly at: number;
  readonly about: Attributes;
}

interface Called extends At {
  readonly enforcement: string;
}

/** Ends the oldest of what is open, where it is too much. */
function endOldest(open: ReadonlyMap<string, unknown>, end: (id: string) => void): void {
  const [oldest] = open.keys();
  if (open.size > MOST_OPEN && oldest !== undefined) end(oldest);
}
