import type { Admission, CallGovernor, CountedUsage, ModelCall, Spending } from "@reins/gateway";
import { isRecord, LruCache } from "@reins/kit";
import { type Decided, type Origin, type Redact, resultDraft } from "@reins/supervisor";
import { type ActionPayload, recordedSubject } from "./control-point.ts";
import { enforce } from "./enforce.ts";
import { recordIn } from "./outcome.ts";
import type { AskableScope } from "./scope.ts";

/** A prompt: of a client for a turn, or of the native agent for one request to its model. */
export interface PromptPoint {
  readonly kind: "prompt";
  readonly payload: unknown;
  readonly origin: Origin;
  /** Only why its cost is not known, where that is so. */
  readonly reserves?: { readonly unpriced: string };
}

/** A call to a model that passes the gateway; decided like the prompt that it is, before anything of it leaves. */
export interface ModelCallPoint {
  readonly kind: "model_call";
  readonly payload: ActionPayload & { readonly tokens_used: number };
  /** Kept of budgets until it is known what the call used. */
  readonly reserves: ModelCall["reserves"];
}

/** The name of calls to models in rules and records. */
const MODEL_CALL = "model/call";
/** The most names of one kind that are recorded, and the longest of these names. */
const MOST_NAMES = 500;
const LONGEST_NAME = 128;

/** A session whose calls to models pass the gateway. */
export interface MeteredSession extends AskableScope {
  /** Whether nothing of it is recorded any more, because Reins stops. */
  readonly isCut: boolean;
  readonly isClosed: boolean;
  readonly turn?:
    | (NonNullable<AskableScope["turn"]> & {
        countCall(spent: Spending & { readonly estimated?: true }): void;
      })
    | undefined;
}

/** What the calls of each session have used, and what is kept for those under way. */
const used = new WeakMap<object, { tokens: number }>();

/** Decides the calls to models of an agent's process, which has one session. */
export function governCalls(sessions: () => readonly MeteredSession[]): CallGovernor {
  return {
    async admit(call, signal) {
      const open = sessions().filter(({ isCut, isClosed }) => !isCut && !isClosed);
      const [session, ...others] = open;
      if (!session) return { refused: "the agent has no session yet" };
      if (others.length > 0) return { refused: "the agent has several sessions, and one token" };
      return admitIn(session, call, signal);
    },
  };
}

async function admitIn(session: MeteredSession, call: ModelCall, signal: AbortSignal): Promise<Admission> {
  const sum = used.get(session) ?? { tokens: 0 };
  used.set(session, sum);
  const point = pointOf(session, call, sum.tokens);
  sum.tokens += call.reserves.tokens;
  const { turn } = session;
  const { supervisor } = session.context.harness;
  const release = () => {
    sum.tokens -= call.reserves.tokens;
  };
  const enforced = await enforce(session, point, { signal }).catch((error: unknown) => {
    release();
    throw error;
  });
  if (enforced.kind !== "allowed") {
    release();
    return { refused: enforced.kind === "refused" ? enforced.reason : "it cannot be changed on its way" };
  }
  const { entry } = enforced.verdict;
  if (signal.aborted || entry === undefined) {
    release();
    await settle(session, call, enforced.verdict, { outcome: "cancelled", spent: NOTHING });
    return { refused: entry === undefined ? "its verdict was not written" : "the agent hung up" };
  }
  return {
    room: () => supervisor.roomFor(recordedSubject(session, "performed"), entry),
    async settle(outcome, usage, spent) {
      release();
      sum.tokens += spent.tokens;
      turn?.countCall({ ...spent, ...(usage.estimated && { estimated: true }) });
      await settle(session, call, enforced.verdict, { outcome, spent, usage });
    },
  };
}

const NOTHING: Spending = { tokens: 0, cost: 0 };

/** The control point of a call: what rules can speak of, and nothing of what is said in it. */
function pointOf({ context }: MeteredSession, call: ModelCall, tokens_used: number): ModelCallPoint {
  const { provider, model, url, method, estimatedInput, maxOutput, isPriced, reserves } = call;
  const tools = namesIn(call.tools);
  const [other_models, stored] = [namesIn(call.otherModels), namesIn(call.stored)];
  const secrets = holdsSecret(context.harness.redact, call);
  const tokens = { estimated_tokens: estimatedInput, max_tokens: maxOutput };
  return {
    kind: "model_call",
    payload: {
      tool_name: MODEL_CALL,
      arguments: {
        ...{ provider, model: nameOf(model), method, url, tools, secrets },
        ...(other_models.length > 0 && { other_models }),
        ...(stored.length > 0 && { stored }),
        ...{ ...tokens, priced: isPriced },
      },
      tokens_used,
    },
    reserves,
  };
}

/** The members of calls that hold a conversation, which the next call repeats. */
const CONVERSATIONS = ["messages", "input", "contents"];
/** How many parts of conversations are remembered, and how many characters of them. */
const REMEMBERED = { entries: 100_000, size: 8 * 1024 * 1024 };
/** The parts of conversations that hold no secret, as JSON, by what looked for some: that never changes. */
const plain = new WeakMap<Redact, LruCache<string, true>>();

/** Whether a call holds a secret. What a call before held already is not read again: that is most of a conversation. */
function holdsSecret(redact: Redact, { body, beside }: ModelCall): boolean {
  if (redact(beside) !== beside) return true;
  const known = plain.get(redact) ?? new LruCache<string, true>(REMEMBERED);
  plain.set(redact, known);
  const rest: Record<string, unknown> = { ...body };
  for (const name of CONVERSATIONS) {
    const parts = body[name];
    // Of a list of texts, one may say what the next is.
    if (!Array.isArray(parts) || !parts.every(isRecord)) continue;
    delete rest[name];
    for (const part of parts) {
      const text = JSON.stringify(part);
      if (known.get(text)) continue;
      if (redact(part) !== part) return true;
      known.set(text, true, text.length);
    }
  }
  return redact(rest) !== rest;
}

/** How a call ended, and what it used. */
interface CallEnd {
  readonly outcome: string;
  readonly spent: Spending;
  readonly usage?: CountedUsage;
}

/** Settles a call with what it used, and records that. */
async function settle(
  session: MeteredSession,
  { provider, model, method, reserves }: ModelCall,
  { entry }: Decided,
  { outcome, spent, usage }: CallEnd,
): Promise<void> {
  const subject = recordedSubject(session, "performed");
  const { supervisor } = session.context.harness;
  const tokens = usage && {
    ...{ inputTokens: usage.input, outputTokens: usage.output },
    ...{ cachedReadTokens: usage.cache_read, cachedWriteTokens: usage.cache_write },
  };
  const end = { event_type: "pre_prompt", entry, outcome, tokens };
  const settled = await supervisor.settle(subject, end, { ...spent });
  // The next start finds what was under way when Reins stopped.
  if (session.isCut) return;
  const draft = resultDraft(subject, { tool: MODEL_CALL, outcome }, settled);
  // An unknown cost is not recorded as none.
  const known = reserves.unpriced === undefined ? spent : { tokens: spent.tokens };
  const called = { provider, model: nameOf(model), method, usage: { ...usage, ...known } };
  recordIn(session, [{ ...draft, payload: { ...draft.payload, ...called } }]);
}

function namesIn(texts: readonly string[]): readonly string[] {
  return texts.slice(0, MOST_NAMES).map(nameOf);
}

function nameOf(text: string): string {
  return text.slice(0, LONGEST_NAME).toWellFormed();
}
